#include "io/variable_part.hpp"

#include <algorithm>
#include <cstring>

#include "io/small_copy.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns the value that the library reads where a dataset has not been written; zeros for
/// elements of variable length.
std::vector<std::byte> fill_of(hid_t dataset, const Elements& elements) {
  std::vector<std::byte> fill(static_cast<std::size_t>(elements.bytes()));
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  if (is_self_contained(elements.type())) H5Pget_fill_value(creation, elements.type(), fill.data());
  return fill;
}

}  // namespace

AxesOf axes_along(hid_t scale, const Axis* axis) {
  AxesOf axes(std::max<std::size_t>(1, extents_of(scale).size()), nullptr);
  axes.front() = axis;
  return axes;
}

Variable part_of(hid_t variable, const AxesOf& axes) {
  Variable part{variable, axes, Handle(H5Dget_space(variable), H5Sclose)};
  const std::vector<index_t> extents = extents_of(variable);
  std::vector<hsize_t> start, count, most(extents.size());
  H5Sget_simple_extent_dims(part.space, nullptr, most.data());
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const layout::Range range = axes[d] != nullptr ? axes[d]->range : layout::Range{0, extents[d]};
    const index_t there = std::max<index_t>(0, std::min(range.end, extents[d]) - range.begin);
    start.push_back(there > 0 ? static_cast<hsize_t>(range.begin) : 0);
    count.push_back(static_cast<hsize_t>(there));
    part.slab.push_back(there);
    part.extents.push_back(most[d] == H5S_UNLIMITED ? range.size() : there);
    if (axes[d] == nullptr || axes[d]->place)
      part.order.push_back(d);
    else
      part.exists = part.exists && part.extents.back() > 0;
  }
  std::ranges::stable_sort(part.order, {}, [&](std::size_t d) {
    return axes[d] != nullptr ? *axes[d]->place : std::size_t{H5S_MAX_RANK};
  });
  for (const std::size_t d : part.order) part.shape.push_back(part.extents[d]);
  if (std::ranges::find(count, hsize_t{0}) != count.end())
    H5Sselect_none(part.space);
  else if (!extents.empty())
    H5Sselect_hyperslab(part.space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return part;
}

std::vector<std::byte> permuted(const Elements& from, const Variable& part) {
  const auto bytes = static_cast<std::size_t>(from.bytes());
  index_t elements = 1;
  for (const index_t extent : part.shape) elements *= extent;
  const std::vector<std::byte> fill = fill_of(part.id, from);
  std::vector<std::byte> data(static_cast<std::size_t>(elements) * bytes);
  std::vector<index_t> strides(part.slab.size(), 1), index(part.order.size(), 0);
  for (std::size_t d = part.slab.size(); d-- > 1;) strides[d - 1] = strides[d] * part.slab[d];
  for (std::byte* to = data.data(); elements-- > 0; to += bytes) {
    index_t at = 0;
    bool there = from.count() > 0;
    for (std::size_t d = 0; d < part.order.size(); ++d) {
      at += index[d] * strides[part.order[d]];
      there = there && index[d] < part.slab[part.order[d]];
    }
    const std::byte* const element =
        there ? from.data().data() + static_cast<std::size_t>(at) * bytes : fill.data();
    std::memcpy(to, element, bytes);
    for (std::size_t d = part.order.size(); d-- > 0 && ++index[d] == part.shape[d];) index[d] = 0;
  }
  return data;
}

}  // namespace tessera::inline v1::io
