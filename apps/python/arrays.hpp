#pragma once
// What the functions of the Python module share: checks of arguments, results, memory of arrays.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::python {

namespace py = pybind11;

using Shape = std::vector<py::ssize_t>;

/// Returns the integer x; throws TypeError unless it is one, ValueError unless it is in low ..
/// high.
[[nodiscard]] index_t integer_of(const py::object& x, const char* name, index_t low, index_t high);
/// Returns the number of threads of a call: all for 0, one in a forked process, whose OpenMP has
/// lost its threads. Throws TypeError or ValueError.
[[nodiscard]] int threads_of(const py::object& threads);
/// Returns the default number of threads.
[[nodiscard]] int default_threads();
/// Makes all later calls use one thread.
void after_fork();

[[nodiscard]] Shape shape_of(const py::array& x);
/// Returns the shape as Python writes it: (3, 4), (3,), ().
[[nodiscard]] std::string text(const Shape& shape);
/// Returns the shortest text for a dtype or any other object: str(x).
[[nodiscard]] std::string text(const py::handle& x);

/// Returns whether the array is aligned and in native byte order.
[[nodiscard]] bool is_plain(const py::array& x);
/// Returns the array, copied if it is not plain.
[[nodiscard]] py::array native(const py::array& x);
/// Returns the array with that dtype and contiguous in C's order, copied if it is not so.
[[nodiscard]] py::array contiguous(const py::array& x, const py::dtype& dtype);

/// Returns whether the bytes that the arrays span overlap.
[[nodiscard]] bool overlap(const py::array& x, const py::array& y);
/// Returns whether both are the same elements at the same addresses.
[[nodiscard]] bool same_memory(const py::array& x, const py::array& y);

/// Returns `out`, or a new array in its place if it is None. Throws TypeError unless out is an
/// array of that dtype, ValueError unless it is aligned, has that shape and is writable.
[[nodiscard]] py::array result(const py::object& out, const py::dtype& dtype, const Shape& shape);
/// Throws ValueError unless out is contiguous in C's order.
void require_contiguous(const py::array& out);
/// Throws ValueError if out overlaps the argument of that name.
void refuse_overlap(const py::array& out, const py::array& x, const char* name);

/// Returns the elements of a result as bytes.
[[nodiscard]] inline std::byte* bytes_of(py::array& x) {
  return static_cast<std::byte*>(x.mutable_data());
}
[[nodiscard]] inline const std::byte* bytes_of(const py::array& x) {
  return static_cast<const std::byte*>(x.data());
}

/// Where the elements of all arrays of a call are. Those of a GPU are described by numpy arrays,
/// too, whose elements nothing reads (tessera/_gpu.py).
enum class Place { host, gpu };

// The functions of the module; tessera/__init__.py documents them.
[[nodiscard]] py::object matmul(py::array a, py::array b, const py::object& out,
                                const py::object& threads, Place place);
[[nodiscard]] py::array transpose(py::array a, const py::object& axes, const py::object& out,
                                  const py::object& threads, Place place);
[[nodiscard]] py::array sort(const py::array& a, bool descending, const py::object& out,
                             const py::object& threads, Place place);
[[nodiscard]] py::array argsort(const py::array& a, bool descending, const py::object& out,
                                const py::object& threads, Place place);
[[nodiscard]] py::array stencil(const py::array& u, const py::object& steps,
                                const std::string& kernel, const py::object& weights,
                                const std::string& boundary, double value, const py::object& out,
                                const py::object& threads);

}  // namespace tessera::python
