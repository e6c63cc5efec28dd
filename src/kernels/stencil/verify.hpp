#pragma once
// Verification of a finished sweep without a second sweep. Pure functions of a rank's own points;
// the sums of ranks add up.

#include <cstdint>
#include <functional>

#include "base/bfloat16.hpp"
#include "kernels/stencil/expression.hpp"
#include "kernels/stencil/sweep.hpp"

namespace tessera::inline v1::stencil {

/// The global field before the sweep. Called only for points inside it and, beyond a side with
/// Boundary::given, for points outside.
template <class T>
using Initial = std::function<T(Index3 global)>;

/// The terms of the sweep at a point inside the global field, in the arithmetic type; empty without
/// terms. Of walls only NaN or not matters: recompute() computes their values.
template <class T>
using TermsAt = std::function<PointTerms<Arithmetic<T>>(Index3 global)>;

/// Returns the result of a sweep of `steps` steps from `initial` over the whole field at one point:
/// recomputed by plain scalar code from the points it depends on, (2 * radius * steps + 1) in each
/// dimension. `past` is the level before initial, for stencils of two time levels. Equal to the
/// last bit to every variant's result.
template <class T>
[[nodiscard]] T recompute(const Stencil& stencil, const Sides& sides, Index3 global, Index3 point,
                          index_t steps, const Initial<T>& initial, const Initial<T>& past = {},
                          const TermsAt<T>& terms = {});

/// The sum over the points of u, in double, pairwise within rows. A sweep preserves the sum over
/// the whole field if conserves(), up to rounding: relative to the sum of magnitudes about steps *
/// epsilon.
struct Sum {
  double value = 0, magnitude = 0;
};
template <class T>
[[nodiscard]] Sum sum(const GridView<const T>& u);
/// Returns whether the stencil without terms preserves the sum over the field: linear, weights that
/// add up to 1, all sides periodic.
[[nodiscard]] bool conserves(const Stencil& stencil, const Sides& sides);

/// Returns the sum mod 2^64 of hash_at(bits of the value, row-major index in the global field) over
/// the points of u, whose origin in the global field is `origin`: added up over ranks it is the
/// same for any distribution.
template <class T>
[[nodiscard]] std::uint64_t field_hash(const GridView<const T>& u, Index3 origin, Index3 global,
                                       int threads = 1);

}  // namespace tessera::inline v1::stencil
