#pragma once
// Boxes that extend around periodic dimensions, as parts of the field.

#include <algorithm>
#include <array>
#include <vector>

#include "dist/stencil/scheme.hpp"

namespace tessera::inline v1::workloads::stencil {

/// Calls body(part, shift) for the parts of a box in unrolled periodic dimensions, each with its
/// offset to the field's indices.
template <class Body>
void each_unrolled(const dist::stencil::Scheme& scheme, const Box3& box, const Body& body) {
  struct AxisSpan {
    index_t low, high, shift;
  };
  std::array<std::vector<AxisSpan>, 3> along;
  for (int d = 0; d < 3; ++d) {
    const index_t n = scheme.global[d];
    const bool periodic = scheme.periodic()[static_cast<std::size_t>(d)];
    const index_t turns = periodic && n > 0 ? ceil_div(std::max<index_t>(0, -box.low[d]), n) : 0;
    for (index_t turn = -turns * n; n > 0 && turn < box.high[d]; turn += n) {
      const index_t low = std::max(box.low[d], turn), high = std::min(box.high[d], turn + n);
      if (low < high) along[static_cast<std::size_t>(d)].push_back({low, high, -turn});
      if (!periodic) break;
    }
  }
  for (const AxisSpan& z : along[0]) {
    for (const AxisSpan& y : along[1]) {
      for (const AxisSpan& x : along[2])
        body(Box3{{{z.low, y.low, x.low}}, {{z.high, y.high, x.high}}},
             Index3{{z.shift, y.shift, x.shift}});
    }
  }
}

}  // namespace tessera::inline v1::workloads::stencil
