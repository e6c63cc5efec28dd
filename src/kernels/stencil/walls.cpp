// The term `walls` of a domain from the flags of its cells.

#include "kernels/stencil/walls.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "machine/fork_join.hpp"

namespace tessera::inline v1::stencil {

void complete(const Sides& sides, Index3 global, const Box3& box,
              const GridView<std::uint8_t>& outside) {
  Box3 inner = intersect(box, {{}, global});
  for (int d = 0; d < 3; ++d) {
    if (sides[static_cast<std::size_t>(d)][0].kind != Boundary::periodic) continue;
    inner.low[d] = box.low[d];
    inner.high[d] = box.high[d];
  }
  const auto at = [&](Index3 p) -> std::uint8_t& {
    return outside(p[0] - box.low[0], p[1] - box.low[1], p[2] - box.low[2]);
  };
  const auto take = [&](index_t z, index_t y, index_t x0, index_t x1) {
    for (index_t x = x0; x < x1; ++x) {
      const Origin from = origin_of(sides, global, {{z, y, x}});
      at({{z, y, x}}) = from.fixed == nullptr ? at(from.p) : 0;
    }
  };
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) {
      const bool there =
          z >= inner.low[0] && z < inner.high[0] && y >= inner.low[1] && y < inner.high[1];
      take(z, y, box.low[2], there ? inner.low[2] : box.high[2]);
      if (there) take(z, y, inner.high[2], box.high[2]);
    }
  }
}

template <class T>
void fill_walls(const Stencil& stencil, const GridView<const std::uint8_t>& outside,
                const GridView<T>& walls, int threads) {
  const index_t planes = walls.extent[0], rows = walls.extent[1], n = walls.extent[2];
  const auto fill_row = [&](index_t z, index_t y, double* sums) {
    std::fill_n(sums, n, 0.0);
    for (const Tap& tap : stencil.taps) {
      const std::uint8_t* there = outside.row(z + tap.offset[0], y + tap.offset[1]) + tap.offset[2];
      for (index_t x = 0; x < n; ++x) sums[x] += there[x] != 0 ? tap.weight : 0.0;
    }
    const std::uint8_t* here = outside.row(z, y);
    T* to = walls.row(z, y);
    for (index_t x = 0; x < n; ++x)
      to[x] = static_cast<T>(here[x] != 0 ? std::numeric_limits<double>::quiet_NaN() : sums[x]);
  };
  machine::parallel(threads, [&] {
    machine::parallel_for(0, planes * rows, 16, [&](index_t begin, index_t end) {
      std::vector<double> sums(static_cast<std::size_t>(n));
      for (index_t i = begin; i < end; ++i) fill_row(i / rows, i % rows, sums.data());
    });
  });
}

#define TESSERA_INSTANTIATE(T)                                                  \
  template void fill_walls(const Stencil&, const GridView<const std::uint8_t>&, \
                           const GridView<T>&, int);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(BFloat16)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::stencil
