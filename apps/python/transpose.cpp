// Axis permutations of numpy arrays of any dtype without objects, into contiguous arrays.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "gpu.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/permute.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

/// An axis of the result: its extent, and its stride in the input, in bytes.
struct Axis {
  index_t extent, stride;
};

/// Returns the permutation of 0 .. rank - 1 that `axes` has, negative ones counted from the end.
std::vector<int> permutation(const py::object& axes, int rank) {
  std::vector<int> order;
  if (axes.is_none()) {
    for (int d = rank; d-- > 0;) order.push_back(d);
    return order;
  }
  std::vector<bool> seen(static_cast<std::size_t>(rank));
  const auto fail = [&] {
    throw py::value_error(
        fmt::format("axes is {}: must have each of the {} axes of a once", text(axes), rank));
  };
  if (!py::isinstance<py::iterable>(axes))
    throw py::type_error(fmt::format("axes is {}: must be a sequence of integers", text(axes)));
  for (const py::handle axis : py::iter(axes)) {
    if (!PyIndex_Check(axis.ptr()))
      throw py::type_error(fmt::format("axes is {}: must be a sequence of integers", text(axes)));
    const Py_ssize_t value = PyNumber_AsSsize_t(axis.ptr(), nullptr);
    const Py_ssize_t place = value < 0 ? value + rank : value;
    if (place < 0 || place >= rank || seen[static_cast<std::size_t>(place)]) fail();
    seen[static_cast<std::size_t>(place)] = true;
    order.push_back(static_cast<int>(place));
  }
  if (order.size() != static_cast<std::size_t>(rank)) fail();
  return order;
}

/// Returns the axes of the result, those of extent 1 dropped and those merged that are adjacent on
/// both sides.
std::vector<Axis> merged(const py::array& a, const std::vector<int>& order) {
  std::vector<Axis> axes;
  for (const int d : order) {
    const Axis axis{a.shape(d), a.strides(d)};
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().stride == axis.stride * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// A transposition by a kernel: any permutation of a dense array, or a matrix whose rows have gaps.
struct Task {
  std::vector<index_t> shape;       ///< of the array in memory
  std::vector<int> axes;            ///< axis k of the result is axis axes[k] in memory
  std::optional<index_t> row = {};  ///< of a matrix with gaps: bytes between its rows
};

/// Returns the task for axes of the result; nullopt if the elements have to be copied first.
std::optional<Task> task_of(const std::vector<Axis>& axes, index_t bytes) {
  std::vector<int> order(axes.size());  // of the axes by stride: as they are in memory
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int k) -> const Axis& { return axes[static_cast<std::size_t>(k)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int x, int y) { return at(x).stride > at(y).stride; });
  Task task{.shape = {}, .axes = std::vector<int>(axes.size())};
  index_t dense = bytes;
  bool gaps = false;
  for (std::size_t k = order.size(); k-- > 0;) {
    const Axis& axis = at(order[k]);
    const bool inner = k + 1 == order.size();
    if (axis.stride < dense || (inner && axis.stride != bytes)) return std::nullopt;
    gaps = gaps || axis.stride != dense;
    dense = axis.stride * axis.extent;
    task.axes[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  }
  for (const int k : order) task.shape.push_back(at(k).extent);
  if (!gaps) return task;
  const bool matrix = axes.size() == 2 && order[0] == 1 && at(1).stride % bytes == 0 &&
                      bytes <= transpose::max_record_bytes;
  if (!matrix) return std::nullopt;
  task.row = at(1).stride;
  return task;
}

void run(const Task& task, index_t bytes, const std::byte* from, std::byte* to, int threads) {
  const py::gil_scoped_release release;
  const auto total =
      static_cast<double>(bytes) *
      std::accumulate(task.shape.begin(), task.shape.end(), 1.0,
                      [](double x, index_t n) { return x * static_cast<double>(n); });
  constexpr double bytes_of_thread = 1 << 17;  // waking a thread takes as long as copying these
  const transpose::Tuning tuning{.threads = static_cast<int>(std::clamp(
                                     total / bytes_of_thread, 1.0, static_cast<double>(threads)))};
  if (!task.row) return transpose::permute(task.shape, task.axes, bytes, from, to, tuning);
  const index_t m = task.shape[0], n = task.shape[1];
  const transpose::ConstRecords a{from, m, n, *task.row / bytes, bytes};
  const transpose::Records b{to, n, m, m, bytes};
  machine::parallel(tuning.threads, [&] { transpose::cache_oblivious(a, b, tuning); });
}

/// Throws ValueError: axes of an array lie further apart than kernels go.
void refuse_axes(std::size_t axes) {
  throw py::value_error(
      fmt::format("axes separate {} axes of a: must be at most {} after those that stay adjacent "
                  "are merged",
                  axes, transpose::max_rank));
}

/// Returns the move from any strides to a contiguous result.
transpose::Rearrangement rearrangement(const std::vector<Axis>& axes, index_t bytes) {
  if (axes.size() > static_cast<std::size_t>(transpose::max_rank)) refuse_axes(axes.size());
  transpose::Rearrangement task{.rank = static_cast<int>(axes.size()), .axis = {}, .bytes = bytes};
  index_t stride = bytes;
  for (std::size_t k = axes.size(); k-- > 0; stride *= axes[k].extent)
    task.axis[k] = {axes[k].extent, axes[k].stride, stride};
  return task;
}

/// Permutes axes on a GPU, of arrays with any strides; matrices with contiguous rows by the kernel
/// of transposes.
void transpose_on_gpu(const py::array& a, const std::vector<int>& order, py::array& b) {
  const index_t bytes = a.itemsize();
  const std::vector<Axis> axes = merged(a, order);
  const bool is_matrix = axes.size() == 2 && bytes <= transpose::max_record_bytes &&
                         axes[0].stride == bytes && axes[1].stride % bytes == 0 &&
                         axes[1].stride >= axes[0].extent * bytes;
  if (is_matrix) {
    const index_t m = axes[1].extent, n = axes[0].extent;
    const transpose::ConstRecords from{bytes_of(a), m, n, axes[1].stride / bytes, bytes};
    const transpose::Records to{bytes_of(b), n, m, m, bytes};
    call_on_gpu([&](transpose::DeviceStream stream) {
      transpose::best_device()->on_device(from, to, {}, stream);
    });
    return;
  }
  const transpose::Rearrangement task = rearrangement(axes, bytes);
  call_on_gpu([&](transpose::DeviceStream stream) {
    transpose::device_rearrange()(task, bytes_of(a), bytes_of(b), stream);
  });
}

}  // namespace

py::array transpose(py::array a, const py::object& axes, const py::object& out,
                    const py::object& threads, Place place) {
  const int team = threads_of(threads);
  if (a.dtype().attr("hasobject").cast<bool>()) {
    throw py::type_error(
        fmt::format("a has dtype {}: must not hold Python objects", text(a.dtype())));
  }
  const std::vector<int> order = permutation(axes, static_cast<int>(a.ndim()));
  Shape shape;
  for (const int d : order) shape.push_back(a.shape(d));
  py::array b = result(out, a.dtype(), shape, place);
  require_contiguous(b);
  refuse_overlap(b, a, "a");
  const index_t bytes = a.itemsize();
  if (b.nbytes() == 0) return b;
  if (place == Place::gpu) {
    transpose_on_gpu(a, order, b);
    return b;
  }
  std::optional<Task> task = task_of(merged(a, order), bytes);
  if (!task) {
    const bool same_order = std::is_sorted(order.begin(), order.end());
    if (same_order) {
      py::module_::import("numpy").attr("copyto")(b, a);
      return b;
    }
    a = contiguous(a, a.dtype());
    task = task_of(merged(a, order), bytes);
  }
  if (task->axes.size() > static_cast<std::size_t>(transpose::max_rank))
    refuse_axes(task->axes.size());
  run(*task, bytes, bytes_of(std::as_const(a)), bytes_of(b), team);
  return b;
}

}  // namespace tessera::python
