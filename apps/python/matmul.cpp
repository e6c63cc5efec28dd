// Products of numpy arrays. Operands are multiplied where they are if rows or columns are
// contiguous, also transposed; others are copied once.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gpu.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

using matmul::Gemm;
using matmul::Op;

/// A matrix or a vector as a matrix: extents, and strides in bytes.
struct Matrix {
  const std::byte* data;
  index_t rows, cols;
  index_t row, step;  ///< bytes from one row, one column to the next
};

/// Returns the array as a matrix; a vector is its only row, or its only column.
Matrix matrix_of(const py::array& x, bool vector_is_column) {
  const std::byte* const data = bytes_of(x);
  if (x.ndim() == 2) return {data, x.shape(0), x.shape(1), x.strides(0), x.strides(1)};
  if (x.ndim() == 0) return {data, 1, 1, x.itemsize(), x.itemsize()};
  if (vector_is_column) return {data, x.shape(0), 1, x.strides(0), x.itemsize()};
  return {data, 1, x.shape(0), x.itemsize(), x.strides(0)};
}

/// Returns op(x) as the kernels take it: the matrix as it is if its rows are contiguous, transposed
/// if its columns are; nullopt otherwise.
template <class T>
std::optional<std::pair<MatrixView<const T>, Op>> view_of(const Matrix& x) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  const auto* const data = reinterpret_cast<const T*>(x.data);
  const auto leads = [](index_t bytes, index_t count, index_t inner) {
    return count <= 1 || (bytes % size == 0 && bytes / size >= std::max<index_t>(inner, 1));
  };
  const auto leading = [](index_t bytes, index_t count, index_t inner) {
    return count <= 1 ? std::max<index_t>(inner, 1) : bytes / size;
  };
  if (x.rows == 0 || x.cols == 0)  // of any strides
    return {{{data, x.rows, x.cols, std::max<index_t>(x.cols, 1)}, Op::none}};
  if ((x.cols <= 1 || x.step == size) && leads(x.row, x.rows, x.cols))
    return {{{data, x.rows, x.cols, leading(x.row, x.rows, x.cols)}, Op::none}};
  if ((x.rows <= 1 || x.row == size) && leads(x.step, x.cols, x.rows))
    return {{{data, x.cols, x.rows, leading(x.step, x.cols, x.rows)}, Op::transpose}};
  return std::nullopt;
}

/// An operand, and the array that holds its elements: the caller's or a copy.
template <class T>
struct Operand {
  py::array holder;
  MatrixView<const T> view;
  Op op = Op::none;
};

template <class T>
Operand<T> operand(const py::array& x, bool vector_is_column) {
  if (const auto view = view_of<T>(matrix_of(x, vector_is_column)))
    return {x, view->first, view->second};
  const py::array copy = contiguous(x, x.dtype());
  const auto view = view_of<T>(matrix_of(copy, vector_is_column));
  return {copy, view->first, view->second};
}

Op other(Op op) { return op == Op::none ? Op::transpose : Op::none; }

/// Returns the problem; a result whose columns are contiguous is that of the transposed problem.
template <class T>
Gemm<T> problem(const Operand<T>& a, const Operand<T>& b, const py::array& out,
                bool right_is_vector) {
  const auto view = view_of<T>(matrix_of(out, right_is_vector));
  if (!view) {
    throw py::value_error(
        fmt::format("out has strides {}: must have contiguous rows or columns (or pass a copy)",
                    text(Shape(out.strides(), out.strides() + out.ndim()))));
  }
  const MatrixView<T> into{const_cast<T*>(view->first.data), view->first.rows, view->first.cols,
                           view->first.ld};
  if (view->second == Op::none)
    return {.a = a.view, .op_a = a.op, .b = b.view, .op_b = b.op, .c = into};
  return {.a = b.view, .op_a = other(b.op), .b = a.view, .op_b = other(a.op), .c = into};
}

template <class T>
void multiply(const py::array& a, const py::array& b, const py::array& out, int threads) {
  const Operand<T> left = operand<T>(a, false), right = operand<T>(b, true);
  const Gemm<T> g = problem(left, right, out, b.ndim() == 1);
  const py::gil_scoped_release release;
  const int team = matmul::useful_threads<T>(g.m(), g.n(), g.k(), threads);
  machine::parallel(team, [&] { matmul::cache_oblivious(g); });
}

/// Returns the operand on a GPU, which is read where it is.
template <class T>
Operand<T> operand_on_gpu(const py::array& x, const char* name, bool vector_is_column) {
  const auto view = view_of<T>(matrix_of(x, vector_is_column));
  if (!view) {
    throw py::value_error(
        fmt::format("{} is on a GPU and has strides {}: must have contiguous rows or columns", name,
                    text(Shape(x.strides(), x.strides() + x.ndim()))));
  }
  return {x, view->first, view->second};
}

template <class T>
void multiply_on_gpu(const py::array& a, const py::array& b, const py::array& out) {
  const Operand<T> left = operand_on_gpu<T>(a, "a", false), right = operand_on_gpu<T>(b, "b", true);
  const Gemm<T> g = problem(left, right, out, b.ndim() == 1);
  if (g.m() == 0 || g.n() == 0) return;
  const auto kernel = matmul::best_device()->on_device.of<T>();
  call_on_gpu([&](matmul::DeviceStream stream) { kernel(g, {}, stream); });
}

/// A dtype of the kernels, with its functions. on_gpu: nullptr if GPUs have none.
struct Element {
  char kind;
  py::ssize_t bytes;
  void (*multiply)(const py::array&, const py::array&, const py::array&, int);
  void (*on_gpu)(const py::array&, const py::array&, const py::array&);
};
constexpr Element elements[] = {
    {'f', 2, multiply<Half>, nullptr},
    {'f', 4, multiply<float>, multiply_on_gpu<float>},
    {'f', 8, multiply<double>, multiply_on_gpu<double>},
    {'c', 8, multiply<Complex<float>>, multiply_on_gpu<Complex<float>>},
    {'c', 16, multiply<Complex<double>>, multiply_on_gpu<Complex<double>>}};

const Element* element_of(const py::dtype& dtype) {
  for (const Element& e : elements) {
    if (e.kind == dtype.kind() && e.bytes == dtype.itemsize()) return &e;
  }
  return nullptr;
}

/// Converts both operands to the dtype that numpy computes in; throws TypeError if no kernel does,
/// and for operands on a GPU that would have to be converted.
const Element& unify(py::array& a, py::array& b, Place place) {
  a = plain(a, "a", place);
  b = plain(b, "b", place);
  const Element* const found = element_of(a.dtype());
  const bool equal = found != nullptr && found == element_of(b.dtype());
  if (place == Place::gpu && (!equal || found->on_gpu == nullptr)) {
    throw py::type_error(fmt::format(
        "a has dtype {} and b {}: must both be float32, float64, complex64 or complex128 on a GPU",
        text(a.dtype()), text(b.dtype())));
  }
  if (equal) return *found;
  const py::module_ numpy = py::module_::import("numpy");
  const py::dtype common = numpy.attr("result_type")(a.dtype(), b.dtype());
  const Element* const wider = element_of(common);
  if (wider == nullptr) {
    throw py::type_error(fmt::format(
        "a has dtype {} and b {}: their common dtype must be float16, float32, float64, complex64 "
        "or complex128",
        text(a.dtype()), text(b.dtype())));
  }
  a = numpy.attr("asarray")(a, common);
  b = numpy.attr("asarray")(b, common);
  return *wider;
}

void require_dimensions(const py::array& x, const char* name) {
  if (x.ndim() == 1 || x.ndim() == 2) return;
  throw py::value_error(fmt::format("{} has {} dimensions: must have 1 or 2", name, x.ndim()));
}

}  // namespace

py::object matmul(py::array a, py::array b, const py::object& out, const py::object& threads,
                  Place place) {
  const int team = threads_of(threads);
  require_dimensions(a, "a");
  require_dimensions(b, "b");
  if (a.shape(a.ndim() - 1) != b.shape(0)) {
    throw py::value_error(fmt::format("b has shape {}: must have {} rows, the columns of a {}",
                                      text(shape_of(b)), a.shape(a.ndim() - 1), text(shape_of(a))));
  }
  const Element& element = unify(a, b, place);
  Shape shape;
  if (a.ndim() == 2) shape.push_back(a.shape(0));
  if (b.ndim() == 2) shape.push_back(b.shape(1));
  const py::array c = result(out, a.dtype(), shape, place);
  refuse_overlap(c, a, "a");
  refuse_overlap(c, b, "b");
  if (place == Place::gpu) {
    element.on_gpu(a, b, c);
    return c;
  }
  element.multiply(a, b, c, team);
  if (out.is_none() && shape.empty()) return py::object(c[py::tuple()]);
  return c;
}

}  // namespace tessera::python
