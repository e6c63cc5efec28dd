// Fields that a stencil advances.

#include <set>

#include "distributed/operations.hpp"

namespace tessera::python {
namespace {

/// Returns the number of parts along each axis. Collective.
std::vector<index_t> parts_of(const mpi::Communicator& comm, const std::vector<index_t>& low,
                              bool is_empty) {
  std::vector<index_t> mine = low;
  if (is_empty) mine.assign(low.size(), 0);
  const std::vector<index_t> all = comm.all_gather(std::span<const index_t>(mine));
  std::vector<index_t> parts;
  for (std::size_t d = 0; d < low.size(); ++d) {
    std::set<index_t> begins;
    for (std::size_t at = d; at < all.size(); at += low.size()) begins.insert(all[at]);
    parts.push_back(static_cast<index_t>(begins.size()));
  }
  return parts;
}

}  // namespace

Field::Field(const Ranks& ranks, const std::vector<index_t>& shape, const py::dtype& dtype,
             const std::string& kernel, const py::object& weights, const std::string& boundary,
             double value, const std::string& options)
    : dtype_(dtype), low_(shape.size()), high_(shape.size()) {
  py::array_t<double> numbers(0);
  Shape extents;
  if (!weights.is_none()) {
    numbers = py::array_t<double>(contiguous(py::array(weights), py::dtype::of<double>()));
    extents = shape_of(numbers);
  }
  const std::vector<int64_t> sizes(extents.begin(), extents.end());
  const tessera_stencil stencil{static_cast<int>(shape.size()),
                                weights.is_none() ? kernel.c_str() : nullptr,
                                sizes.data(),
                                numbers.data(),
                                boundary.c_str(),
                                value};
  const int type = type_of(dtype);
  call([&] {
    return tessera_field_create(ranks.handle(), &stencil, type, shape.data(), options.c_str(),
                                &handle_);
  });
  call([&] { return tessera_field_box(handle_, low_.data(), high_.data()); });
  const py::gil_scoped_release release;
  grid_ = parts_of(ranks.comm(), low_, low_ == high_);
}

Field::~Field() { [[maybe_unused]] const int code = tessera_field_free(&handle_); }

py::array Field::local(const py::object& base) const {
  void* data = nullptr;
  Shape shape, steps;
  std::vector<int64_t> strides(low_.size());
  call([&] { return tessera_field_data(handle_, &data, strides.data()); });
  for (std::size_t d = 0; d < low_.size(); ++d) {
    shape.push_back(high_[d] - low_[d]);
    steps.push_back(strides[d] * dtype_.itemsize());
  }
  return {dtype_, shape, steps, data, base};
}

void Field::advance(index_t steps) {
  call([&] { return tessera_field_advance(handle_, steps); });
}

}  // namespace tessera::python
