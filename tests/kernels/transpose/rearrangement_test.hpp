#pragma once
// Permutations of the axes of arrays, and their oracle.

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/records_test.hpp"

namespace tessera::transpose {

/// Returns the rearrangement of an array of that shape with the result's axes in the order of
/// `axes`.
inline Rearrangement rearrangement(const std::vector<index_t>& shape, const std::vector<int>& axes,
                                   index_t bytes) {
  Rearrangement task;
  task.rank = static_cast<int>(shape.size());
  task.bytes = bytes;
  index_t stride = bytes;
  for (std::size_t k = shape.size(); k-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    task.axis[k].extent = shape[axis];
    task.axis[k].to = stride;
    stride *= shape[axis];
  }
  stride = bytes;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto at = std::find(axes.begin(), axes.end(), static_cast<int>(axis)) - axes.begin();
    task.axis[at].from = stride;
    stride *= shape[axis];
  }
  return task;
}

/// Returns the number of records at wrong positions.
inline index_t misplaced(const Rearrangement& task, const std::byte* from, const std::byte* to,
                         int axis = 0) {
  if (axis == std::min(task.rank, max_rank))
    return std::memcmp(from, to, static_cast<std::size_t>(task.bytes)) == 0 ? 0 : 1;
  index_t wrong = 0;
  const Axis& a = std::data(task.axis)[axis];
  for (index_t i = 0; i < a.extent; ++i)
    wrong += misplaced(task, from + i * a.from, to + i * a.to, axis + 1);
  return wrong;
}

}  // namespace tessera::transpose
