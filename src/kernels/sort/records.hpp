#pragma once
// The order of rows by some of their bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"
#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

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

}  // namespace tessera::inline v1::sort
