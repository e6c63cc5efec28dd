#pragma once
// Gather of rows by a list, and stable grouping of rows by bucket, for rows of any size.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::inline v1::sort {

/// Gathers to[j] = row places[j] of rows of `bytes` bytes, for j in [0, places.size()), on this
/// thread.
void gather_rows(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places,
                 std::byte* to);
/// Prefetches the first rows of a later gather_rows.
void will_gather(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places);

/// A column before and after the move.
struct MovedColumn {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  index_t bytes = 0;  ///< per row
};
/// Returns how many column entries to[first + j] differ from their sources from[places[j]].
[[nodiscard]] index_t count_differing(std::span<const MovedColumn> columns,
                                      std::span<const std::uint64_t> places, index_t first);
/// Groups rows by bucket, stably: bucket b is then [begin[b], begin[b + 1]). group[j] <
/// begin.size() - 1 is the bucket of row j. Runs on the threads of the enclosing parallel region.
void group_rows(std::span<const std::uint16_t> group, std::span<const MovedColumn> columns,
                std::span<index_t> begin);

}  // namespace tessera::inline v1::sort
