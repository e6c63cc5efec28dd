// Parts of an axis permutation by rank, and the checksum of a slab.

#include "dist/transpose/axes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "kernels/transpose/checksum_rows.hpp"
#include "kernels/transpose/permute.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

/// Returns the keys of a slab's indices along one axis.
std::vector<std::uint64_t> keys_of(layout::Range range, int name, std::uint64_t seed) {
  std::vector<std::uint64_t> keys;
  const std::uint64_t axis = mix64(seed + static_cast<std::uint64_t>(name));
  for (index_t i = range.begin; i < range.end; ++i)
    keys.push_back(mix64(axis ^ mix64(static_cast<std::uint64_t>(i))));
  return keys;
}

}  // namespace

AxesPart axes_part(std::span<const index_t> extents, std::span<const int> axes, index_t rank,
                   index_t ranks) {
  tessera::transpose::require_permutation(extents, axes);
  require_argument(!axes.empty(), "axes", "is empty: a permutation needs at least one axis");
  require_argument(rank >= 0 && rank < ranks, "rank",
                   fmt::format("is {}: must be in [0, {})", rank, ranks));
  AxesPart part;
  part.elements = 1;
  const auto split = static_cast<std::size_t>(axes[0]);
  index_t row = 1;  // elements of the result at one index of its first axis
  for (std::size_t k = 0; k < extents.size(); ++k) {
    part.from.push_back(k == split ? layout::BlockMap(extents[k], ranks).range(rank)
                                   : layout::Range{0, extents[k]});
    part.shape.push_back(part.from.back().size());
    part.elements *= part.shape.back();
    if (k != split) row *= extents[k];
  }
  part.first_element = part.from[split].begin * row;
  return part;
}

std::vector<index_t> permuted(std::span<const index_t> extents, std::span<const int> axes) {
  tessera::transpose::require_permutation(extents, axes);
  std::vector<index_t> result;
  for (const int axis : axes) result.push_back(extents[static_cast<std::size_t>(axis)]);
  return result;
}

std::uint64_t slab_checksum(const NamedSlab& slab, std::uint64_t seed, int threads) {
  std::vector<std::vector<std::uint64_t>> keys;
  index_t outer = 1;
  for (std::size_t k = 0; k < slab.ranges.size(); ++k) {
    keys.push_back(keys_of(slab.ranges[k], slab.names[k], seed));
    if (k + 1 < slab.ranges.size()) outer *= slab.ranges[k].size();
  }
  const index_t row = slab.ranges.back().size();
  if (outer == 0 || row == 0) return 0;
  tessera::transpose::ChecksumRow* const row_sum = tessera::transpose::checksum_row(machine::isa());
  std::atomic<std::uint64_t> total{0};
  const index_t grain = std::max<index_t>(1, (index_t{1} << 16) / row);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, outer, grain, [&](index_t begin, index_t end) {
      std::uint64_t sum = 0;
      for (index_t position = begin; position < end; ++position) {
        std::uint64_t key = 0;
        index_t rest = position;
        for (std::size_t k = keys.size() - 1; k-- > 0;) {
          const index_t extent = slab.ranges[k].size();
          key += keys[k][static_cast<std::size_t>(rest % extent)];
          rest /= extent;
        }
        sum += row_sum(slab.data + position * row * slab.bytes, row, slab.bytes, key,
                       keys.back().data());
      }
      total += sum;
    });
  });
  return total;
}

}  // namespace tessera::inline v1::dist::transpose
