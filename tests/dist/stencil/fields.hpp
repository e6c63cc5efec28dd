#pragma once
// Initial fields of the tests of distributed sweeps, and their comparison with the oracle.

#include <limits>

#include "dist/stencil/field.hpp"
#include "kernels/stencil/oracle.hpp"

namespace tessera::dist::stencil {

namespace oracle = tessera::stencil::oracle;

/// Fills owned points from the oracle's start, given sides with their values, and all other ghost
/// layers with NaN.
template <class T>
void fill(DistributedField<T>& u, int field = 0) {
  const Scheme& scheme = u.scheme();
  const Box3 box = u.box(), frame = scheme.with_frame();
  if (box.empty()) return;
  const auto& ghosts = u.ghosts();
  const Index3 n = box.size();
  for (index_t z = -ghosts[0][0]; z < n[0] + ghosts[0][1]; ++z) {
    for (index_t y = -ghosts[1][0]; y < n[1] + ghosts[1][1]; ++y) {
      for (index_t x = -ghosts[2][0]; x < n[2] + ghosts[2][1]; ++x) {
        const Index3 local{{z, y, x}};
        Index3 p{{z + box.low[0], y + box.low[1], x + box.low[2]}};
        bool own = true, beyond = false;
        for (int d = 0; d < 3; ++d) {
          own = own && local[d] >= 0 && local[d] < n[d];
          if (scheme.periodic()[static_cast<std::size_t>(d)])
            p[d] = oracle::outside_source(Boundary::periodic, p[d], scheme.global[d]);
          beyond = beyond || (p[d] < 0 && scheme.given(d, 0)) ||
                   (p[d] >= scheme.global[d] && scheme.given(d, 1));
          beyond = beyond && p[d] >= frame.low[d] && p[d] < frame.high[d];
        }
        const T nan = static_cast<T>(std::numeric_limits<Arithmetic<T>>::quiet_NaN());
        const T value =
            own || beyond ? oracle::initial<T>(scheme.stencil, p, own ? 2 * field : 0) : nan;
        u.now(field)(local) = value;
        u.past(field)(local) = own ? oracle::initial<T>(scheme.stencil, p, 2 * field + 1) : value;
      }
    }
  }
}

/// Returns the number of points of this rank's box whose bits differ from the oracle's.
template <class T>
[[nodiscard]] index_t differing(const DistributedField<T>& u, const oracle::Grid<T>& want,
                                int field = 0) {
  const Box3 box = u.box();
  index_t wrong = 0;
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) {
      for (index_t x = box.low[2]; x < box.high[2]; ++x) {
        const Index3 local{{z - box.low[0], y - box.low[1], x - box.low[2]}};
        wrong += oracle::bits(u.now(field)(local)) == oracle::bits(want({{z, y, x}})) ? 0 : 1;
      }
    }
  }
  return wrong;
}

}  // namespace tessera::dist::stencil
