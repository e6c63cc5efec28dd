#pragma once
// Checks of a finished sweep that need no second sweep. Pure functions of a rank's own points; sums
// over ranks add up.

#include <cstdint>
#include <functional>

#include "base/half.hpp"
#include "kernels/stencil/expression.hpp"
#include "kernels/stencil/sweep.hpp"

namespace tessera::stencil {

/// The global field before the sweep. Asked only for points inside it and, beyond a side with
/// Boundary::given, for points outside.
template <class T>
using Initial = std::function<T(Index3 global)>;

/// The terms of the sweep at a point inside the global field, as they are computed with; empty
/// where there are none. Of walls only whether they are NaN counts: recompute() makes them again.
template <class T>
using TermsAt = std::function<PointTerms<Arithmetic<T>>(Index3 global)>;

/// What a sweep of `steps` steps from `initial` over the whole field gives at one point: recomputed
/// by plain scalar code from the points it depends on, (2 * radius * steps + 1) in each dimension.
/// `past` is the level before initial, for stencils of two time levels. Equal to the last bit to
/// every variant's result.
template <class T>
[[nodiscard]] T recompute(const Stencil& stencil, const Sides& sides, Index3 global, Index3 point,
                          index_t steps, const Initial<T>& initial, const Initial<T>& past = {},
                          const TermsAt<T>& terms = {});

/// The sum over the points of u, in double, pairwise within rows. A sweep keeps the sum over the
/// whole field where conserves() says so, up to rounding: relative to the sum of magnitudes about
/// steps * epsilon.
struct Sum {
  double value = 0, magnitude = 0;
};
template <class T>
[[nodiscard]] Sum sum(const GridView<const T>& u);
/// Whether the stencil keeps the sum over the field where there are no terms: linear, weights that
/// add up to 1, all sides periodic.
[[nodiscard]] bool conserves(const Stencil& stencil, const Sides& sides);

/// The sum mod 2^64 of hash_at(bits of the value, row-major index in the global field) over the
/// points of u, which lies at origin in the global field: added up over ranks it is the same for
/// any distribution.
template <class T>
[[nodiscard]] std::uint64_t field_hash(const GridView<const T>& u, Index3 origin, Index3 global,
                                       int threads = 1);

}  // namespace tessera::stencil
