#pragma once
// A partition of one dimension into consecutive parts, one per rank (or row or column of ranks).

#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::layout {

/// A half-open range of indices.
struct Range {
  index_t begin = 0;
  index_t end = 0;
  [[nodiscard]] index_t size() const { return end - begin; }
  [[nodiscard]] bool empty() const { return end <= begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

[[nodiscard]] inline Range intersect(Range a, Range b) {
  const index_t begin = a.begin > b.begin ? a.begin : b.begin;
  const index_t end = a.end < b.end ? a.end : b.end;
  return {begin, end > begin ? end : begin};
}

/// A partition of [0, extent) into `parts` consecutive ranges whose sizes differ by at most one
/// unit of `granule` (the last one is truncated at the extent); parts may be empty. Computed by
/// quotient and remainder, because extent * part / parts overflows.
class BlockMap {
 public:
  BlockMap() = default;
  BlockMap(index_t extent, index_t parts, index_t granule = 1);

  [[nodiscard]] index_t extent() const { return extent_; }
  [[nodiscard]] index_t parts() const { return parts_; }
  [[nodiscard]] Range range(index_t part) const { return {begin(part), begin(part + 1)}; }
  [[nodiscard]] index_t begin(index_t part) const;
  [[nodiscard]] index_t size(index_t part) const { return range(part).size(); }
  /// Returns the part that holds index; precondition: 0 <= index < extent.
  [[nodiscard]] index_t owner(index_t index) const;
  /// Returns the first index of every part, then the extent: parts + 1 values.
  [[nodiscard]] std::vector<index_t> offsets() const;

 private:
  index_t extent_ = 0;
  index_t parts_ = 1;
  index_t granule_ = 1;
};

/// Returns the first index of every part of [0, extent), then the extent (weights.size() + 1
/// values), for sizes proportional to the weights, rounded, but at least `least`. Preconditions:
/// weights > 0, weights.size() * least <= extent.
[[nodiscard]] std::vector<index_t> weighted_offsets(index_t extent,
                                                    const std::vector<double>& weights,
                                                    index_t least = 0);

}  // namespace tessera::inline v1::layout
