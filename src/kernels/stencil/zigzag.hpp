#pragma once
// Column-based iteration in boustrophedon order: every other row runs from right to left, so the
// walk turns on lines that it has just accessed.

#include "base/instrument.hpp"
#include "kernels/stencil/column.hpp"

namespace tessera::inline v1::stencil {
/// Sweeps columns in boustrophedon order. Plain numbers are taken in groups of up to 64, so that
/// the compiler can vectorise the loop over a group: the order of eight adjacent lines makes no
/// difference to a cache. A trace takes every point separately.
template <class T>
void zigzag(const Sweep<T>& sweep, const Tuning& tuning) {
  constexpr index_t group = is_traced<T> ? 1 : 64;
  for_columns(sweep, tuning, [](const Engine<T>& engine, index_t step, const Box3& column) {
    const index_t z = column.low[0], left = column.low[2], right = column.high[2];
    const index_t groups = ceil_div(right - left, group);
    for (index_t y = column.low[1]; y < column.high[1]; ++y) {
      const bool turned = (y - column.low[1]) % 2 == 1;
      for (index_t i = 0; i < groups; ++i) {
        const index_t x = left + (turned ? groups - 1 - i : i) * group;
        engine.compute(step, {{{z, y, x}}, {{z + 1, y + 1, std::min(x + group, right)}}});
      }
    }
  });
}

}  // namespace tessera::inline v1::stencil
