#include "io/variable_part.hpp"

#include <algorithm>
#include <cstring>

#include "io/small_copy.hpp"

namespace tessera::io {

AxesOf axes_along(hid_t scale, const Axis* axis) {
  AxesOf axes(std::max<std::size_t>(1, extents_of(scale).size()), nullptr);
  axes.front() = axis;
  return axes;
}

Variable part_of(hid_t variable, const AxesOf& axes) {
  Variable part{variable, axes, Handle(H5Dget_space(variable), H5Sclose)};
  const std::vector<index_t> extents = extents_of(variable);
  std::vector<hsize_t> start, count;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const layout::Range range = axes[d] != nullptr ? axes[d]->range : layout::Range{0, extents[d]};
    start.push_back(static_cast<hsize_t>(range.begin));
    count.push_back(static_cast<hsize_t>(range.size()));
    part.slab.push_back(range.size());
    if (axes[d] == nullptr || axes[d]->place) part.order.push_back(d);
  }
  std::ranges::stable_sort(part.order, {}, [&](std::size_t d) {
    return axes[d] != nullptr ? *axes[d]->place : std::size_t{H5S_MAX_RANK};
  });
  for (const std::size_t d : part.order) part.shape.push_back(part.slab[d]);
  if (!extents.empty())
    H5Sselect_hyperslab(part.space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return part;
}

void permute(const Elements& from, const std::vector<index_t>& slab,
             const std::vector<std::size_t>& order, std::byte* to) {
  std::vector<index_t> strides(slab.size(), 1), index(order.size(), 0);
  for (std::size_t d = slab.size(); d-- > 1;) strides[d - 1] = strides[d] * slab[d];
  const auto bytes = static_cast<std::size_t>(from.bytes());
  for (index_t i = 0; i < from.count(); ++i, to += bytes) {
    index_t at = 0;
    for (std::size_t d = 0; d < order.size(); ++d) at += index[d] * strides[order[d]];
    std::memcpy(to, from.data().data() + static_cast<std::size_t>(at) * bytes, bytes);
    for (std::size_t d = order.size(); d-- > 0 && ++index[d] == slab[order[d]];) index[d] = 0;
  }
}

}  // namespace tessera::io
