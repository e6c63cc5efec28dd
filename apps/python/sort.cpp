// Sorts of one-dimensional numpy arrays.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu.hpp"
#include "kernels/sort/argsort.hpp"
#include "kernels/sort/resident.hpp"
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

/// Sorts likewise on a GPU.
template <class T>
void sort_on_gpu(const Request& request, std::byte* to) {
  using B = sort::Bits<T>;
  const sort::Keys& keys = request.keys;
  constexpr index_t size = sizeof(T);
  if (keys.stride < size && keys.n > 1) {
    throw py::value_error(
        fmt::format("a is on a GPU and has the stride {}: must ascend", keys.stride));
  }
  const sort::ResidentKernels<B>& kernels = *sort::resident_kernels(B{});
  call_on_gpu([&](machine::device::StreamHandle stream) {
    using machine::device::Allocation, machine::device::Home;
    const Allocation spare(keys.n * size, Home::device);
    const Allocation work(kernels.work_bytes(keys.n), Home::device);
    if (to != keys.data) {
      machine::device::copy({keys.data, keys.n, size, std::max(keys.stride, size)},
                            {to, keys.n, size, size}, stream);
    }
    kernels.sort(reinterpret_cast<B*>(to), reinterpret_cast<B*>(spare.data()), keys.n,
                 sort::key_map<T>(request.order), work.data(), stream);
    machine::device::synchronize();  // before the memory is released
  });
}

template <class T>
void argsort_into(const Request& request, std::byte* to) {
  const py::gil_scoped_release release;
  sort::argsort_keys<T>(
      request.keys, request.order,
      {reinterpret_cast<std::uint64_t*>(to), static_cast<std::size_t>(request.keys.n)},
      request.threads);
}

/// A dtype of the kernels, with its functions.
struct Element {
  char kind;
  py::ssize_t bytes;
  void (*sort)(const Request&, std::byte*);
  void (*on_gpu)(const Request&, std::byte*);
  void (*argsort)(const Request&, std::byte*);
};
constexpr Element elements[] = {
    {'i', 4, sort_into<std::int32_t>, sort_on_gpu<std::int32_t>, argsort_into<std::int32_t>},
    {'i', 8, sort_into<std::int64_t>, sort_on_gpu<std::int64_t>, argsort_into<std::int64_t>},
    {'u', 4, sort_into<std::uint32_t>, sort_on_gpu<std::uint32_t>, argsort_into<std::uint32_t>},
    {'u', 8, sort_into<std::uint64_t>, sort_on_gpu<std::uint64_t>, argsort_into<std::uint64_t>},
    {'f', 4, sort_into<float>, sort_on_gpu<float>, argsort_into<float>},
    {'f', 8, sort_into<double>, sort_on_gpu<double>, argsort_into<double>},
};

/// Returns the row of the array's dtype; throws ValueError unless it is one-dimensional, TypeError
/// for other dtypes.
const Element& element_of(const py::array& a) {
  if (a.ndim() != 1)
    throw py::value_error(fmt::format("a has {} dimensions: must have 1", a.ndim()));
  for (const Element& e : elements) {
    if (e.kind == a.dtype().kind() && e.bytes == a.itemsize()) return e;
  }
  throw py::type_error(fmt::format(
      "a has dtype {}: must be int32, int64, uint32, uint64, float32 or float64", text(a.dtype())));
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
  const Element& element = element_of(a);
  const py::array keys = plain(a, "a", place);
  py::array sorted = result(out, keys.dtype(), shape_of(a), place);
  require_contiguous(sorted);
  if (!same_memory(sorted, a)) refuse_overlap(sorted, a, "a");
  const auto into = place == Place::gpu ? element.on_gpu : element.sort;
  if (a.size() > 0) into(request_of(keys, descending, team), bytes_of(sorted));
  return sorted;
}

py::array argsort(const py::array& a, bool descending, const py::object& out,
                  const py::object& threads) {
  const int team = threads_of(threads);
  const Element& element = element_of(a);
  const py::array keys = native(a);
  py::array order = result(out, py::dtype::of<std::int64_t>(), shape_of(a));
  require_contiguous(order);
  refuse_overlap(order, a, "a");
  if (a.size() > 0) element.argsort(request_of(keys, descending, team), bytes_of(order));
  return order;
}

}  // namespace tessera::python
