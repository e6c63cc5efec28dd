#pragma once
// Rows sorted by some of their bytes, where they lie.

#include "kernels/sort/key.hpp"
#include "kernels/sort/permute.hpp"

namespace tessera::sort {

/// The bytes of a row that it is sorted by, as unsigned ones, the first weighing most.
struct RowKey {
  index_t begin = 0;
  index_t bytes = 0;
  Order order = Order::ascending;
};

/// order[j] = the number of the row that belongs at j by key, stable; on up to `threads` threads,
/// outside of any region. Takes 32 bytes a row.
void argsort_records(const std::byte* rows, index_t row_bytes, const RowKey& key,
                     std::span<std::uint64_t> order, int threads);

/// rows by key, stable, on up to `threads` threads; outside of any region. Takes 32 bytes a row
/// beside them, and what permute_in_place takes.
void sort_records(const Rows& rows, const RowKey& key, int threads);

}  // namespace tessera::sort
