#pragma once
// Positions of a slab of an array in a file: arithmetic only.

#include <span>

#include "base/index.hpp"
#include "layout/block_map.hpp"

namespace tessera::inline v1::io {

/// Runs of equal length at equal distances, in elements of a row-major array.
struct StridedRuns {
  index_t first, length, count, distance;
};

/// Calls body(StridedRuns) for a slab, one range per dimension, of an array with these extents, in
/// the order of the slab's elements: the trailing whole dimensions and one range more form a run,
/// the next range a group of runs, the others enumerate groups. Makes no call for an empty slab.
template <class Body>
void for_each_runs(std::span<const index_t> extents, std::span<const layout::Range> slab,
                   Body&& body) {
  for (const layout::Range& range : slab)
    if (range.empty()) return;
  StridedRuns runs{0, 1, 1, 1};
  std::size_t inner = slab.size();
  index_t stride = 1;  // stride of dimension inner - 1, in elements
  for (bool whole = true; inner > 0 && whole; --inner) {
    const layout::Range range = slab[inner - 1];
    whole = range.size() == extents[inner - 1];
    runs.length *= range.size();
    runs.first += range.begin * stride;
    stride *= extents[inner - 1];
  }
  if (inner > 0) {
    --inner;
    runs.count = slab[inner].size();
    runs.distance = stride;
    runs.first += slab[inner].begin * stride;
    stride *= extents[inner];
  }
  index_t groups = 1;
  for (std::size_t d = 0; d < inner; ++d) groups *= slab[d].size();
  for (index_t g = 0; g < groups; ++g) {
    StridedRuns group = runs;
    index_t rest = g, step = stride;
    for (std::size_t d = inner; d-- > 0;) {
      group.first += (slab[d].begin + rest % slab[d].size()) * step;
      rest /= slab[d].size();
      step *= extents[d];
    }
    body(group);
  }
}

}  // namespace tessera::inline v1::io
