// Checks of arguments, and results.

#include "arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

constexpr index_t most_threads = 4096;

std::atomic<bool> forked{false};

/// The addresses [first, second) that an array spans.
std::pair<std::intptr_t, std::intptr_t> span_of(const py::array& x) {
  std::intptr_t low = reinterpret_cast<std::intptr_t>(x.data()), high = low + x.itemsize();
  for (py::ssize_t d = 0; d < x.ndim(); ++d) {
    const std::intptr_t last = (x.shape(d) - 1) * x.strides(d);
    (last < 0 ? low : high) += last;
  }
  return {low, high};
}

bool is_aligned(const py::array& x) {
  return (x.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
}

py::object numpy(const char* function) { return py::module_::import("numpy").attr(function); }

}  // namespace

int default_threads() {
  return forked.load(std::memory_order_relaxed) ? 1 : machine::default_threads();
}

void after_fork() { forked.store(true, std::memory_order_relaxed); }

index_t integer_of(const py::object& x, const char* name, index_t low, index_t high) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(x.ptr()));
  if (!index) {
    PyErr_Clear();
    throw py::type_error(fmt::format("{} is {}: must be an integer", name, text(x)));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < low || value > high) {
    throw py::value_error(fmt::format("{} is {}: must be in {} .. {}", name, text(x), low, high));
  }
  return value;
}

int threads_of(const py::object& threads) {
  const index_t value = integer_of(threads, "threads", 0, most_threads);
  if (value == 0) return default_threads();
  return forked.load(std::memory_order_relaxed) ? 1 : static_cast<int>(value);
}

Shape shape_of(const py::array& x) { return {x.shape(), x.shape() + x.ndim()}; }

std::string text(const Shape& shape) {
  std::string inside;
  for (const py::ssize_t extent : shape)
    inside += (inside.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + inside + (shape.size() == 1 ? ",)" : ")");
}

std::string text(const py::handle& x) { return py::str(x); }

bool is_plain(const py::array& x) {
  return x.dtype().byteorder() != '<' && x.dtype().byteorder() != '>' && is_aligned(x);
}

py::array native(const py::array& x) {
  if (is_plain(x)) return x;
  return numpy("array")(x, x.dtype().attr("newbyteorder")("="));
}

py::array contiguous(const py::array& x, const py::dtype& dtype) {
  return numpy("require")(x, dtype, "CA");
}

bool overlap(const py::array& x, const py::array& y) {
  if (x.size() == 0 || y.size() == 0) return false;
  const auto [x_low, x_high] = span_of(x);
  const auto [y_low, y_high] = span_of(y);
  return x_low < y_high && y_low < x_high;
}

bool same_memory(const py::array& x, const py::array& y) {
  return x.data() == y.data() && x.itemsize() == y.itemsize() && shape_of(x) == shape_of(y) &&
         std::equal(x.strides(), x.strides() + x.ndim(), y.strides());
}

py::array result(const py::object& out, const py::dtype& dtype, const Shape& shape) {
  if (out.is_none()) return py::array(dtype, shape);
  if (!py::isinstance<py::array>(out)) {
    throw py::type_error(
        fmt::format("out is of type {}: must be a numpy array", text(py::type::of(out))));
  }
  auto array = py::reinterpret_borrow<py::array>(out);
  if (!array.dtype().equal(dtype)) {
    throw py::type_error(
        fmt::format("out has dtype {}: must be {}", text(array.dtype()), text(dtype)));
  }
  if (shape_of(array) != shape) {
    throw py::value_error(
        fmt::format("out has shape {}: must be {}", text(shape_of(array)), text(shape)));
  }
  if (!array.writeable()) throw py::value_error("out is read-only: must be writable");
  if (!is_aligned(array)) throw py::value_error("out is not aligned: must be aligned to its dtype");
  return array;
}

void require_contiguous(const py::array& out) {
  if ((out.flags() & py::array::c_style) == 0) {
    throw py::value_error(
        fmt::format("out has strides {}: must be contiguous in C's order (or pass a copy)",
                    text(Shape(out.strides(), out.strides() + out.ndim()))));
  }
}

void refuse_overlap(const py::array& out, const py::array& x, const char* name) {
  if (overlap(out, x)) {
    throw py::value_error(fmt::format("out overlaps {0}: must be separate memory", name));
  }
}

}  // namespace tessera::python
