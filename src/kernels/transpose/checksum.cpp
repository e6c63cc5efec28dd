// The index-mixed checksum of a block, by tasks over rows and columns.

#include "kernels/transpose/checksum.hpp"

#include <algorithm>

#include "kernels/transpose/checksum_rows.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr index_t chunk =
    8192;  // columns whose keys are cached: 64 KiB in the L2; runs this long keep prefetchers busy

/// Returns the block's sum, computed in sequence; chunks of columns are the outer loop, so that
/// keys are computed once.
std::uint64_t sum_block(const ConstRecords& block, const Position& position, std::uint64_t seed) {
  const bool swapped = position.indices == Indices::swapped;
  ChecksumRow* const row_sum = checksum_row(machine::isa());
  std::uint64_t keys[chunk];
  std::uint64_t sum = 0;
  for (index_t left = 0; left < block.cols; left += chunk) {
    const index_t wide = std::min(chunk, block.cols - left);
    for (index_t j = 0; j < wide; ++j) {
      const index_t global = position.col + left + j;
      keys[j] = swapped ? row_key(seed, global) : col_key(seed, global);
    }
    for (index_t i = 0; i < block.rows; ++i) {
      const index_t global = position.row + i;
      const std::uint64_t key = swapped ? col_key(seed, global) : row_key(seed, global);
      sum += row_sum(block.at(i, left), wide, block.bytes, key, keys);
    }
  }
  return sum;
}

/// Returns the block's sum, computed by tasks on halves of rows, then of columns, until about
/// `grain` elements remain.
std::uint64_t sum_halves(const ConstRecords& block, Position position, std::uint64_t seed,
                         index_t grain) {
  if (block.rows * block.cols <= grain || (block.rows == 1 && block.cols <= chunk)) {
    return sum_block(block, position, seed);
  }
  ConstRecords first = block;
  ConstRecords second = block;
  Position second_position = position;
  if (block.rows > 1) {
    first.rows = block.rows / 2;
    second = block.block(first.rows, 0, block.rows - first.rows, block.cols);
    second_position.row += first.rows;
  } else {
    first.cols = block.cols / 2;
    second = block.block(0, first.cols, 1, block.cols - first.cols);
    second_position.col += first.cols;
  }
  std::uint64_t sums[2];
  machine::fork_join([&] { sums[0] = sum_halves(first, position, seed, grain); },
                     [&] { sums[1] = sum_halves(second, second_position, seed, grain); });
  return sums[0] + sums[1];
}

}  // namespace

std::uint64_t checksum(const ConstRecords& block, const Position& position, std::uint64_t seed,
                       int threads) {
  if (block.empty()) return 0;
  const int team = threads > 0 ? threads : machine::default_threads();
  const index_t grain = std::max<index_t>(block.rows * block.cols / (4 * team), 1 << 16);
  std::uint64_t sum = 0;
  machine::parallel(team, [&] { sum = sum_halves(block, position, seed, grain); });
  return sum;
}

}  // namespace tessera::inline v1::transpose
