#pragma once
// Additional fields that a step reads at the point itself: coefficients, a source, a mask, walls.
// They are constant in time.
//
// With s = sum over taps of weight * u[p + offset], W = tap_sum(), and k, q, m, d the fields at p,
// a step is
//
// - with walls s += d u[p], where d is the sum of the weights of the neighbours outside the domain:
//   where these hold 0 they count as p itself, and no flux passes between,
//
// - v = s; with coefficients v = W u[p] + k (s - W u[p]): k scales the change by the neighbours, so
//   it is a diffusivity for heat and a squared speed for wave,
//
// - v += previous * (u[p] one step before), for stencils of two time levels,
//
// - v += factor * q, with a source,
//
// - u[p] = v; with a mask u[p] is unchanged where m is 0, with walls where d is NaN, outside the
//   domain,
//
// computed as s = fma(d, u, s), v = fma(k, fma(-W, u, s), W u), v = fma(previous, past, v),
// v = fma(factor, q, v): the same bits everywhere.

#include <array>
#include <cmath>
#include <string_view>

#include "base/grid_view.hpp"

namespace tessera::inline v1::stencil {

enum class Term { coefficients, source, mask, walls };
inline constexpr std::array<Term, 4> all_terms{Term::coefficients, Term::source, Term::mask,
                                               Term::walls};
inline constexpr std::array<std::string_view, 4> term_names{"coefficients", "source", "mask",
                                                            "walls"};
[[nodiscard]] constexpr std::string_view name(Term term) {
  return term_names[static_cast<std::size_t>(term)];
}

/// The terms of a problem.
struct TermSet {
  std::array<bool, all_terms.size()> present{};  ///< indexed by Term
  double source_factor = 1;

  [[nodiscard]] bool has(Term term) const { return present[static_cast<std::size_t>(term)]; }
  [[nodiscard]] index_t count() const {
    index_t count = 0;
    for (const Term term : all_terms) count += has(term) ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool any() const { return count() > 0; }
};

/// The terms' values around the box of a sweep, in its local indices, at every point that a step
/// computes.
template <class T>
struct Terms {
  /// Indexed by Term; without data if absent.
  std::array<GridView<const T>, all_terms.size()> field{};
  double source_factor = 1;

  [[nodiscard]] const GridView<const T>& operator[](Term term) const {
    return field[static_cast<std::size_t>(term)];
  }
  [[nodiscard]] bool has(Term term) const { return (*this)[term].data != nullptr; }
  [[nodiscard]] index_t count() const {
    index_t count = 0;
    for (const Term term : all_terms) count += has(term) ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool any() const { return count() > 0; }
  /// Returns whether a point is outside the domain.
  [[nodiscard]] bool is_outside(Index3 p) const {
    return has(Term::walls) && std::isnan(static_cast<double>((*this)[Term::walls](p)));
  }
  /// Returns a row from x on, or nullptr.
  [[nodiscard]] const T* row(Term term, index_t z, index_t y, index_t x) const {
    return has(term) ? (*this)[term].row(z, y) + x : nullptr;
  }
  /// Returns the terms of a part of the box.
  [[nodiscard]] Terms box(Index3 from, Index3 size) const {
    Terms part = *this;
    for (GridView<const T>& view : part.field) {
      if (view.data != nullptr) view = view.box(from, size);
    }
    return part;
  }
};

}  // namespace tessera::inline v1::stencil
