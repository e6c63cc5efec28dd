// Sorts of one-dimensional numpy arrays.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu.hpp"
#include "kernels/sort/on_device.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

/// Keys of a call.
struct Request {
  sort::Keys keys;
  sort::Order order;
  int threads;
};

struct Part {
  index_t begin, end;
};
template <class T>
void copy_keys(const sort::Keys& keys, const Part& part, T* to) {
  constexpr index_t size = sizeof(T);
  const std::byte* const from = keys.data + part.begin * keys.stride;
  const index_t n = part.end - part.begin;
  if (keys.stride == size) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
    return;
  }
  for (index_t i = 0; i < n; ++i) std::memcpy(to + i, from + i * keys.stride, sizeof(T));
}

/// Sorts into to[0:n], which are the keys themselves or separate memory.
template <class T>
void sort_into(const Request& request, std::byte* to) {
  const py::gil_scoped_release release;
  const sort::Keys& keys = request.keys;
  auto* const sorted = reinterpret_cast<T*>(to);
  if (to != keys.data) {
    machine::parallel(request.threads, [&] {
      machine::parallel_for(0, keys.n, sort::keys_of_thread, [&](index_t begin, index_t end) {
        copy_keys<T>(keys, {begin, end}, sorted + begin);
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
  constexpr Functions host{sort_into<T>, argsort_into<T>};
  if constexpr (sort::SmallKey<T>)
    return {kind, sizeof(T), host, {}};
  else
    return {kind, sizeof(T), host, {sort_on_gpu<T>, argsort_on_gpu<T>}};
}
constexpr Element elements[] = {
    element<std::int32_t>('i'),  element<std::int64_t>('i'), element<std::uint32_t>('u'),
    element<std::uint64_t>('u'), element<float>('f'),        element<double>('f'),
    element<std::int8_t>('i'),   element<std::int16_t>('i'), element<std::uint8_t>('u'),
    element<std::uint16_t>('u'), element<std::uint8_t>('b'), element<Half>('f')};

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
