#pragma once
// The mathematical problem of a sweep.

#include <array>

#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/stencil.hpp"
#include "kernels/stencil/terms.hpp"

namespace tessera::inline v1::dist::stencil {

using tessera::stencil::all_terms;
using tessera::stencil::Boundary;
using tessera::stencil::Sides;
using tessera::stencil::Stencil;
using tessera::stencil::Term;
using tessera::stencil::TermSet;

/// Returns the reach of `steps` steps.
[[nodiscard]] constexpr Index3 times(Index3 radius, index_t steps) {
  return {{radius[0] * steps, radius[1] * steps, radius[2] * steps}};
}

/// A stencil on a field of that extent, with its boundaries and the further terms that a step
/// reads.
struct Scheme {
  Stencil stencil;
  Sides sides;
  Index3 global{{1, 1, 1}};
  TermSet terms = {};

  [[nodiscard]] std::array<bool, 3> periodic() const {
    const auto is = [&](std::size_t d) { return sides[d][0].kind == Boundary::periodic; };
    return {is(0), is(1), is(2)};
  }
  [[nodiscard]] bool given(int d, int side) const {
    return sides[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)].kind ==
           Boundary::given;
  }
  [[nodiscard]] bool any_given() const {
    bool any = false;
    for (int d = 0; d < 3; ++d) any = any || given(d, 0) || given(d, 1);
    return any;
  }
  /// Returns the box of points whose values the caller provides: the field and, if a side is given,
  /// a frame around it as wide as the stencil's radius, except along periodic dimensions.
  [[nodiscard]] Box3 with_frame() const {
    Box3 box{{}, global};
    for (int d = 0; any_given() && d < 3; ++d) {
      if (periodic()[static_cast<std::size_t>(d)]) continue;
      box.low[d] -= stencil.radius[d];
      box.high[d] += stencil.radius[d];
    }
    return box;
  }
};

}  // namespace tessera::inline v1::dist::stencil
