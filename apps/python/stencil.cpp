// Time steps of a stencil on numpy arrays of one to three dimensions.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "arrays.hpp"
#include "kernels/stencil/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::python {
namespace {

constexpr index_t grain = 1 << 15;  // points times steps for which a thread pays off

/// A march over an array: what is computed, from where, to where.
struct March {
  stencil::Stencil stencil;
  stencil::Sides sides;
  index_t steps;
  int threads;
  Index3 extent;
  Index3 stride;  ///< of the input, in bytes
  const std::byte* from;
  std::byte* to;  ///< contiguous
};

/// Calls f(z, y, row) for each row of a level on the threads of the march; `row` counts them.
template <class F>
void for_each_row(const March& march, const F& f) {
  const index_t rows = march.extent[0] * march.extent[1];
  const index_t rows_of_task = std::max<index_t>(1, grain / march.extent[2]);
  machine::parallel(march.threads, [&] {
    machine::parallel_for(0, rows, rows_of_task, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row)
        f(row / march.extent[1], row % march.extent[1], row);
    });
  });
}

template <class T>
void advance(const March& march) {
  const py::gil_scoped_release release;
  constexpr auto size = static_cast<index_t>(sizeof(T));
  const index_t width = march.extent[2];
  stencil::Field<T> field = stencil::whole_field<T>(march.stencil, march.extent);
  const stencil::Sweep<T> sweep =
      stencil::whole_sweep(march.stencil, march.sides, field, march.steps, march.threads);
  for_each_row(march, [&](index_t z, index_t y, index_t) {
    const std::byte* const from = march.from + z * march.stride[0] + y * march.stride[1];
    T* const to = sweep.level[0].row(z, y);
    for (index_t x = 0; x < width; ++x) std::memcpy(to + x, from + x * march.stride[2], size);
  });
  if (march.steps > 0) stencil::run(stencil::best(sweep), sweep);
  for_each_row(march, [&](index_t z, index_t y, index_t row) {
    std::memcpy(march.to + row * width * size, sweep.level[march.steps % 2].row(z, y),
                static_cast<std::size_t>(width * size));
  });
}

/// Returns three values, those of the missing leading dimensions being `missing`.
Index3 three(const py::ssize_t* values, py::ssize_t dims, index_t missing) {
  Index3 result{{missing, missing, missing}};
  std::copy_n(values, dims, result.at + 3 - dims);
  return result;
}

/// Returns the stencil of those weights, or of that name if they are None.
stencil::Stencil stencil_of(const std::string& kernel, const py::object& weights, int dims) {
  if (weights.is_none()) {
    stencil::Stencil named = stencil::named_stencil(kernel, dims);
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
  const bool wide = u.itemsize() == 8;
  if (u.dtype().kind() != 'f' || (!wide && u.itemsize() != 4)) {
    throw py::type_error(
        fmt::format("u has dtype {}: must be float32 or float64", text(u.dtype())));
  }
  const py::array from = native(u);
  py::array to = result(out, from.dtype(), shape_of(u));
  require_contiguous(to);
  if (!same_memory(to, u)) refuse_overlap(to, u, "u");
  const auto dims = static_cast<int>(u.ndim());
  March march{.stencil = stencil_of(kernel, weights, dims),
              .sides = sides_of(boundary, value),
              .steps = count,
              .threads = team,
              .extent = three(u.shape(), dims, 1),
              .stride = three(from.strides(), dims, 0),
              .from = bytes_of(from),
              .to = bytes_of(to)};
  if (u.size() == 0) return to;
  const index_t grains = march.extent.volume() / grain * std::max<index_t>(count, 1);
  march.threads = static_cast<int>(std::clamp<index_t>(grains, 1, team));
  if (wide)
    advance<double>(march);
  else
    advance<float>(march);
  return to;
}

}  // namespace tessera::python
