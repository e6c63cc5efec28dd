#pragma once
// The term `walls` (terms.hpp) of a domain: a field of which some cells have no value.

#include <cstdint>

#include "base/half.hpp"
#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/stencil.hpp"

namespace tessera::stencil {

/// The place in the field whose value stands at p in the dimensions that are not periodic, or
/// nothing beyond a constant or given side.
struct Place {
  Index3 p;
  bool in_field = true;
};
[[nodiscard]] Place place_of(const Sides& sides, Index3 global, Index3 p);

/// A byte a cell: 1 where it is none of the domain. Copies those of the field to what lies beyond
/// its sides, where values are copied too; 0 beyond constant and given ones, which have values.
/// `box` is where the view lies, periodic dimensions unrolled.
void complete(const Sides& sides, Index3 global, const Box3& box,
              const GridView<std::uint8_t>& outside);

/// walls[p] = the sum of the weights of p's neighbours that lie outside, NaN where p itself does.
/// `outside` is read as far around as the stencil reaches.
template <class T>
void fill_walls(const Stencil& stencil, const GridView<const std::uint8_t>& outside,
                const GridView<T>& walls, int threads);

}  // namespace tessera::stencil
