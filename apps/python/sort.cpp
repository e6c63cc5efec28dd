// Sorts of one-dimensional numpy arrays.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.hpp"
#include "gpu.hpp"
#include "kernels/sort/on_device.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

/// Keys of a call.
struct Request {
  sort::Keys keys;
  sort::Order order;
  int threads;
};

/// Sorts into to[0:n], which are the keys themselves or separate memory.
template <class T>
void sort_into(const Request& request, std::byte* to) {
  const py::gil_scoped_release release;
  const sort::Keys& keys = request.keys;
  auto* const sorted = reinterpret_cast<T*>(to);
  if (to != keys.data) {
    machine::parallel(request.threads, [&] {
      machine::parallel_for(0, keys.n, sort::keys_of_thread, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i)
          std::memcpy(sorted + i, keys.data + i * keys.stride, sizeof(T));
      });
    });
  }
  sort::sort_keys("auto", std::span<T>(sorted, static_cast<std::size_t>(keys.n)), request.threads,
                  request.order);
}

template <class T>
void argsort_into(const Request& request, std::byte* to) {
  const py::gil_scoped_release release;
  sort::argsort_keys<T>(
      request.keys, request.order,
      {reinterpret_cast<std::uint64_t*>(to), static_cast<std::size_t>(request.keys.n)},
      request.threads);
}

/// The type in which keys of less than 32 bits are sorted.
template <class T>
struct Wide {
  using type = sort::SortedAs<T>;
};
template <>
struct Wide<Half> {
  using type = float;
};

template <class T>
T narrowed(typename Wide<T>::type key) {
  return static_cast<T>(key);
}
/// Keeps the bits of NaN, which conversions make quiet.
template <>
Half narrowed<Half>(float key) {
  if (key == key) return Half(key);
  const auto word = std::bit_cast<std::uint32_t>(key);
  Half half;
  half.bits = static_cast<std::uint16_t>((word >> 16 & 0x8000U) | 0x7c00U | (word >> 13 & 0x3ffU));
  return half;
}

/// Returns the keys of a call in their wider type.
template <class T>
machine::Buffer<typename Wide<T>::type> widened(const Request& request) {
  using To = typename Wide<T>::type;
  const sort::Keys& keys = request.keys;
  machine::Buffer<To> wide(keys.n);
  machine::parallel(request.threads, [&] {
    machine::parallel_for(0, keys.n, sort::keys_of_thread, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) {
        T key;
        std::memcpy(&key, keys.data + i * keys.stride, sizeof(T));
        wide[i] = static_cast<To>(key);
      }
    });
  });
  return wide;
}

template <class T>
void sort_widened(const Request& request, std::byte* to) {
  using Key = typename Wide<T>::type;
  const py::gil_scoped_release release;
  machine::Buffer<Key> wide = widened<T>(request);
  sort::sort_keys("auto", wide.span(), request.threads, request.order);
  auto* const sorted = reinterpret_cast<T*>(to);
  machine::parallel(request.threads, [&] {
    machine::parallel_for(0, wide.size(), sort::keys_of_thread, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) sorted[i] = narrowed<T>(wide[i]);
    });
  });
}

template <class T>
void argsort_widened(const Request& request, std::byte* to) {
  using Key = typename Wide<T>::type;
  const py::gil_scoped_release release;
  const machine::Buffer<Key> wide = widened<T>(request);
  sort::argsort_keys<Key>(
      {reinterpret_cast<const std::byte*>(wide.data()), index_t{sizeof(Key)}, wide.size()},
      request.order, {reinterpret_cast<std::uint64_t*>(to), static_cast<std::size_t>(wide.size())},
      request.threads);
}

/// Throws ValueError unless the keys of a GPU ascend in memory.
template <class T>
void require_ascent(const sort::Keys& keys) {
  if (keys.stride < index_t{sizeof(T)} && keys.n > 1) {
    throw py::value_error(
        fmt::format("a is on a GPU and has the stride {}: must ascend", keys.stride));
  }
}

/// Sorts likewise on a GPU.
template <class T>
void sort_on_gpu(const Request& request, std::byte* to) {
  require_ascent<T>(request.keys);
  const py::gil_scoped_release release;
  sort::sort_on_device<T>(request.keys, request.order, to);
}

/// Computes the order likewise on a GPU.
template <class T>
void argsort_on_gpu(const Request& request, std::byte* to) {
  require_ascent<T>(request.keys);
  const py::gil_scoped_release release;
  sort::argsort_on_device<T>(request.keys, request.order, reinterpret_cast<std::uint64_t*>(to));
}

/// The functions of a dtype at one place.
struct Functions {
  void (*sort)(const Request&, std::byte*);
  void (*argsort)(const Request&, std::byte*);
};
/// A dtype of the kernels, with its functions.
struct Element {
  char kind;
  py::ssize_t bytes;
  Functions host, gpu;
};
template <class T>
constexpr Element element(char kind) {
  return {kind, sizeof(T), {sort_into<T>, argsort_into<T>}, {sort_on_gpu<T>, argsort_on_gpu<T>}};
}
template <class T>
constexpr Element small_element(char kind) {
  return {kind, sizeof(T), {sort_widened<T>, argsort_widened<T>}, {}};
}
constexpr Element elements[] = {element<std::int32_t>('i'),
                                element<std::int64_t>('i'),
                                element<std::uint32_t>('u'),
                                element<std::uint64_t>('u'),
                                element<float>('f'),
                                element<double>('f'),
                                small_element<std::int8_t>('i'),
                                small_element<std::int16_t>('i'),
                                small_element<std::uint8_t>('u'),
                                small_element<std::uint16_t>('u'),
                                small_element<std::uint8_t>('b'),
                                small_element<Half>('f')};

/// Returns the functions for the array's dtype; throws ValueError unless it is one-dimensional,
/// TypeError for other dtypes.
const Functions& functions_of(const py::array& a, Place place) {
  if (a.ndim() != 1)
    throw py::value_error(fmt::format("a has {} dimensions: must have 1", a.ndim()));
  for (const Element& e : elements) {
    const Functions& here = place == Place::gpu ? e.gpu : e.host;
    if (e.kind == a.dtype().kind() && e.bytes == a.itemsize() && here.sort != nullptr) return here;
  }
  throw py::type_error(fmt::format("a has dtype {}: must be {}", text(a.dtype()),
                                   place == Place::gpu
                                       ? "int32, int64, uint32, uint64, float32 or float64"
                                       : "an integer or a float of at most 64 bits, or bool"));
}

Request request_of(const py::array& a, bool descending, int threads) {
  const index_t n = a.shape(0);
  return {{bytes_of(a), a.strides(0), n},
          descending ? sort::Order::descending : sort::Order::ascending,
          static_cast<int>(std::clamp<index_t>(n / sort::keys_of_thread, 1, threads))};
}

}  // namespace

py::array sort(const py::array& a, bool descending, const py::object& out,
               const py::object& threads, Place place) {
  const int team = threads_of(threads);
  const Functions& functions = functions_of(a, place);
  const py::array keys = plain(a, "a", place);
  py::array sorted = result(out, keys.dtype(), shape_of(a), place);
  require_contiguous(sorted);
  if (!same_memory(sorted, a)) refuse_overlap(sorted, a, "a");
  if (a.size() > 0) functions.sort(request_of(keys, descending, team), bytes_of(sorted));
  return sorted;
}

py::array argsort(const py::array& a, bool descending, const py::object& out,
                  const py::object& threads, Place place) {
  const int team = threads_of(threads);
  const Functions& functions = functions_of(a, place);
  const py::array keys = plain(a, "a", place);
  py::array order = result(out, py::dtype::of<std::int64_t>(), shape_of(a), place);
  require_contiguous(order);
  refuse_overlap(order, a, "a");
  if (a.size() > 0) functions.argsort(request_of(keys, descending, team), bytes_of(order));
  return order;
}

}  // namespace tessera::python
