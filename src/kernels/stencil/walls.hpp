#pragma once
// The term `walls` (terms.hpp) of a domain: a field in which some cells have no value.

#include <cstdint>

#include "base/bfloat16.hpp"
#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/stencil.hpp"

namespace tessera::inline v1::stencil {

/// Extends flags, one byte per cell, 1 outside the domain, beyond the field's sides, where values
/// are copied too; 0 beyond constant and given sides, which have values. `box` is the box of the
/// view, periodic dimensions unrolled.
void complete(const Sides& sides, Index3 global, const Box3& box,
              const GridView<std::uint8_t>& outside);

/// Computes walls[p] = the sum of the weights of p's neighbours outside the domain, NaN if p itself
/// is outside. Reads `outside` within the reach of the stencil.
template <class T>
void fill_walls(const Stencil& stencil, const GridView<const std::uint8_t>& outside,
                const GridView<T>& walls, int threads);

}  // namespace tessera::inline v1::stencil
