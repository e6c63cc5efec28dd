#pragma once
// Rows of any size on their way from one place to another: in the order of a list, or to the end of
// a group.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::sort {

/// to[j] = row places[j] of rows of so many bytes, for j in [0, places.size()). By this thread.
void gather_rows(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places,
                 std::byte* to);
/// A hint that this comes next: the first rows are on their way while something else is done.
void will_gather(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places);

/// A column before and after.
struct MovedColumn {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  index_t bytes = 0;  ///< a row
};
/// Brings the rows of each bucket together, in their order: bucket b lies in [begin[b], begin[b +
/// 1]) then. group[j] < begin.size() - 1 is the bucket of row j. In parallel on the threads of the
/// region it is called in.
void group_rows(std::span<const std::uint16_t> group, std::span<const MovedColumn> columns,
                std::span<index_t> begin);

}  // namespace tessera::sort
