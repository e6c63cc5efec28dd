#pragma once
// In-place sorting of rows by some of their bytes.

#include "kernels/sort/key.hpp"
#include "kernels/sort/permute.hpp"

namespace tessera::sort {

/// The key bytes of a row, unsigned, most significant first.
struct RowKey {
  index_t begin = 0;
  index_t bytes = 0;
  Order order = Order::ascending;
};

/// Computes order[j] = the number of the row that belongs at j by key, stably, on up to `threads`
/// threads, outside of any parallel region. Needs 32 bytes per row.
void argsort_records(const std::byte* rows, index_t row_bytes, const RowKey& key,
                     std::span<std::uint64_t> order, int threads);

/// Sorts rows by key, stably, on up to `threads` threads, outside of any parallel region. Needs 32
/// bytes per row and the memory of permute_in_place.
void sort_records(const Rows& rows, const RowKey& key, int threads);

}  // namespace tessera::sort
