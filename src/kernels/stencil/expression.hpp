#pragma once
// The value of one point, in the summation order that is part of the stencil: scalar code for
// checks and device kernels.

#include <cmath>
#include <optional>

#include "kernels/stencil/stencil.hpp"
#include "kernels/stencil/terms.hpp"

namespace tessera::inline v1::stencil {

/// Returns the sum by doubling of the 2 * radius + 1 values at(-radius) .. at(radius), radius 1 to
/// largest_box_radius.
template <class T, class At>
TESSERA_HD T doubled_sum(int radius, const At& at) {
  const auto two = [&](int i) { return at(i) + at(i + 1); };
  const auto four = [&](int i) { return two(i) + two(i + 2); };
  const int first = -radius;
  if (radius == 1) return two(first) + at(1);
  if (radius == 2) return four(first) + at(2);
  if (radius == 3) return (four(first) + two(1)) + at(3);
  return (four(first) + four(0)) + at(4);
}

template <class T>
TESSERA_HD T apply_rule(Rule rule, T sum) {
  switch (rule) {
    case Rule::linear:
      break;
    case Rule::life:
      return sum == T{3} || sum == T{11} || sum == T{12} ? T{1} : T{0};
  }
  return sum;
}

/// The terms at one point; empty if absent.
template <class T>
struct PointTerms {
  std::optional<T> coefficient, source, mask, walls;
  T source_factor{1};
};

/// Returns the result of a step from the sum over the taps at a point of value u (terms.hpp).
template <class T>
T with_terms(const Stencil& stencil, T sum, T u, T past, const PointTerms<T>& terms) {
  if (terms.walls) sum = std::fma(*terms.walls, u, sum);
  if (terms.coefficient) {
    const T all = static_cast<T>(stencil.tap_sum());
    sum = std::fma(*terms.coefficient, std::fma(-all, u, sum), all * u);
  }
  if (stencil.two_levels()) sum = std::fma(static_cast<T>(stencil.previous), past, sum);
  sum = apply_rule(stencil.rule, sum);
  if (terms.source) sum = std::fma(terms.source_factor, *terms.source, sum);
  const bool stays = (terms.mask && *terms.mask == 0) || (terms.walls && std::isnan(*terms.walls));
  return stays ? u : sum;
}

/// Returns the value of a point after a step; at(offset) is the value there at this level, past the
/// point's own value one level before.
template <class T, class At>
T point_value(const Stencil& stencil, const At& at, T past, const PointTerms<T>& terms = {}) {
  const auto weight = [&](std::size_t k) { return static_cast<T>(stencil.taps[k].weight); };
  if (stencil.form == Form::box) {
    const int r = static_cast<int>(stencil.radius[2]);
    const auto column = [&](int x) {
      return doubled_sum<T>(r, [&](int y) { return at(Index3{{0, y, x}}); });
    };
    return with_terms<T>(stencil, doubled_sum<T>(r, column) * weight(0), at(Index3{}), past, terms);
  }
  T sum = weight(0) * at(stencil.taps[0].offset);
  for (std::size_t k = 1; k < stencil.taps.size(); ++k)
    sum = std::fma(weight(k), at(stencil.taps[k].offset), sum);
  return with_terms<T>(stencil, sum, at(Index3{}), past, terms);
}

}  // namespace tessera::inline v1::stencil
