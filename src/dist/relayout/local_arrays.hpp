#pragma once
// Checks of the local arrays that a caller passes for a distribution; private to dist.

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "dist/relayout/relayout.hpp"
#include "machine/reach.hpp"

namespace tessera::inline v1::dist::relayout {

/// Returns the boxes of local indices of a rank's arrays, as they are stored.
[[nodiscard]] inline std::vector<layout::Box> stored_boxes(const layout::Distribution& x,
                                                           StorageOrder order, index_t rank) {
  std::vector<layout::Box> result(static_cast<std::size_t>(x.arrays(rank)));
  for (std::size_t k = 0; k < result.size(); ++k) {
    const layout::Box box = x.local_box(rank, static_cast<index_t>(k));
    result[k] = order == StorageOrder::row_major ? box : layout::transposed(box);
  }
  return result;
}

/// Throws Error(usage) naming the argument, name(), unless there is memory for all boxes. Formats
/// no text unless something is wrong: executions of plans allocate nothing.
template <class Arrays, class Name>
void check_arrays(const Arrays& arrays, const std::vector<layout::Box>& needed, const Name& name) {
  if (arrays.size() < needed.size())
    throw Error::of_argument(
        name(), fmt::format("has {} arrays: the distribution has {} on this rank", arrays.size(),
                            needed.size()));
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k].empty()) continue;
    if (arrays[k].data == nullptr)
      throw Error::of_argument(name(), fmt::format("has no memory for array {}", k));
    if (arrays[k].ld < needed[k].cols.end)
      throw Error::of_argument(name(), fmt::format("has the ld {} in array {}: must be at least {}",
                                                   arrays[k].ld, k, needed[k].cols.end));
  }
}

/// Throws Error(usage) naming the argument, name(), if an array that has elements is known to be in
/// the memory of the host where that of a device is wanted, or the reverse.
template <class Arrays, class Name>
void check_reach(const Arrays& arrays, const std::vector<layout::Box>& needed, Space place,
                 const Name& name) {
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k].empty()) continue;
    const char* const why = machine::out_of_reach(arrays[k].data, place == Space::device);
    if (why != nullptr) throw Error::of_argument(name(), why);
  }
}

/// Returns whether arrays at the same address have boxes with common elements. Other parts of the
/// same array may be read.
template <class From, class To>
[[nodiscard]] bool overlap(const From& a, const std::vector<layout::Box>& of_a, const To& b,
                           const std::vector<layout::Box>& of_b) {
  for (std::size_t k = 0; k < std::min(a.size(), of_a.size()); ++k) {
    for (std::size_t l = 0; l < std::min(b.size(), of_b.size()); ++l) {
      const void *const at_a = a[k].data, *const at_b = b[l].data;
      if (at_a == at_b && !intersect(of_a[k], of_b[l]).empty()) return true;
    }
  }
  return false;
}

}  // namespace tessera::inline v1::dist::relayout
