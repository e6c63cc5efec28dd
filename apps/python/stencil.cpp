// Time steps of a stencil on numpy arrays of one to three dimensions.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "arrays.hpp"
#include "kernels/stencil/array.hpp"

namespace tessera::python {
namespace {

/// Returns three values, those of the missing leading dimensions being `missing`.
Index3 three(const py::ssize_t* values, py::ssize_t dims, index_t missing) {
  Index3 result{{missing, missing, missing}};
  std::copy_n(values, dims, result.at + 3 - dims);
  return result;
}

/// Returns the stencil of that name. Throws ValueError naming `kernel`.
stencil::Stencil stencil_of(const std::string& kernel, int dims) {
  try {
    return stencil::named_stencil(kernel, dims);
  } catch (const Error& error) {
    throw py::value_error("kernel" + std::string(error.what()).substr(error.argument().size()));
  }
}

/// Returns the stencil of those weights, or of that name if they are None.
stencil::Stencil stencil_of(const std::string& kernel, const py::object& weights, int dims) {
  if (weights.is_none()) {
    stencil::Stencil named = stencil_of(kernel, dims);
    if (named.two_levels()) {
      throw py::value_error(
          fmt::format("kernel is {}: must not need the field of the previous step", kernel));
    }
    return named;
  }
  auto array = py::array(weights);
  if (std::string_view("biuf").find(array.dtype().kind()) == std::string_view::npos) {
    throw py::type_error(
        fmt::format("weights has dtype {}: must be real numbers", text(array.dtype())));
  }
  if (array.ndim() != dims) {
    throw py::value_error(
        fmt::format("weights has {} dimensions: must have {}, as u", array.ndim(), dims));
  }
  array = contiguous(array, py::dtype::of<double>());
  return stencil::make_stencil(
      "weights", dims, three(array.shape(), dims, 1),
      {static_cast<const double*>(array.data()), static_cast<std::size_t>(array.size())});
}

stencil::Sides sides_of(const std::string& boundary, double value) {
  const stencil::Boundary kind = stencil::parse_boundary(boundary);
  if (kind == stencil::Boundary::given)
    throw py::value_error("boundary is given: must be a rule for values outside of u");
  return stencil::all_sides({kind, value});
}

}  // namespace

py::array stencil(const py::array& u, const py::object& steps, const std::string& kernel,
                  const py::object& weights, const std::string& boundary, double value,
                  const py::object& out, const py::object& threads) {
  const int team = threads_of(threads);
  const index_t count = integer_of(steps, "steps", 0, index_t{1} << 40);
  if (u.ndim() < 1 || u.ndim() > 3)
    throw py::value_error(fmt::format("u has {} dimensions: must have 1 to 3", u.ndim()));
  const py::ssize_t bytes = u.itemsize();
  if (u.dtype().kind() != 'f' || (bytes != 2 && bytes != 4 && bytes != 8)) {
    throw py::type_error(
        fmt::format("u has dtype {}: must be float16, float32 or float64", text(u.dtype())));
  }
  const py::array from = native(u);
  py::array to = result(out, from.dtype(), shape_of(u));
  require_contiguous(to);
  if (!same_memory(to, u)) refuse_overlap(to, u, "u");
  const auto dims = static_cast<int>(u.ndim());
  const stencil::ArrayMarch march{.stencil = stencil_of(kernel, weights, dims),
                                  .sides = sides_of(boundary, value),
                                  .steps = count,
                                  .threads = team,
                                  .extent = three(u.shape(), dims, 1),
                                  .from = bytes_of(from),
                                  .from_stride = three(from.strides(), dims, 0),
                                  .to = bytes_of(to),
                                  .to_stride = three(std::as_const(to).strides(), dims, 0)};
  const py::gil_scoped_release release;
  if (bytes == 2) {
    stencil::advance<Half>(march);
  } else if (bytes == 4) {
    stencil::advance<float>(march);
  } else {
    stencil::advance<double>(march);
  }
  return to;
}

}  // namespace tessera::python
