#include "layout/block_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace tessera::inline v1::layout {

BlockMap::BlockMap(index_t extent, index_t parts, index_t granule)
    : extent_(extent), parts_(parts), granule_(granule) {
  require_argument(extent >= 0 && parts > 0 && granule > 0, "extent",
                   fmt::format("is {}, parts {}, granule {}: must be at least 0, 1 and 1", extent,
                               parts, granule));
}

index_t BlockMap::begin(index_t part) const {
  const index_t units = ceil_div(extent_, granule_);
  const index_t first = part * (units / parts_) + std::min(part, units % parts_);
  return std::min(first * granule_, extent_);
}

index_t BlockMap::owner(index_t index) const {
  const index_t units = ceil_div(extent_, granule_);
  const index_t unit = index / granule_;
  const index_t base = units / parts_;
  const index_t large = units % parts_;  // the first `large` parts hold base + 1 units
  return unit < large * (base + 1) ? unit / (base + 1) : large + (unit - large * (base + 1)) / base;
}

std::vector<index_t> BlockMap::offsets() const {
  std::vector<index_t> result(static_cast<std::size_t>(parts_) + 1);
  for (index_t part = 0; part <= parts_; ++part)
    result[static_cast<std::size_t>(part)] = begin(part);
  return result;
}

std::vector<index_t> weighted_offsets(index_t extent, const std::vector<double>& weights,
                                      index_t least) {
  TESSERA_EXPECTS(static_cast<index_t>(weights.size()) * least <= extent);
  const long double all = std::accumulate(weights.begin(), weights.end(), 0.0L);
  long double before = 0;
  std::vector<index_t> result{0};
  for (const double weight : weights) {
    before += weight;
    const auto at = static_cast<index_t>(before / all * static_cast<long double>(extent) + 0.5L);
    result.push_back(
        std::clamp(at, result.back() + least, std::max(extent, result.back() + least)));
  }
  result.back() = extent;
  for (std::size_t part = result.size() - 1; part > 0; --part)
    result[part - 1] = std::min(result[part - 1], result[part] - least);
  return result;
}

}  // namespace tessera::inline v1::layout
