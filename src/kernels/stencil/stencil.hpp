#pragma once
// A stencil as data: offsets with weights, and the single order in which every variant sums them.

#include <span>
#include <string>
#include <string_view>

#include "base/grid_view.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::stencil {

/// One neighbour: u[p + offset] * weight.
struct Tap {
  Index3 offset;
  double weight;
};

/// The summation of weighted neighbours. The order is part of the stencil, so that scalar, vector,
/// edge and device code give the same bits:
/// - chain  fma(w[n-1], u[n-1], ... fma(w[1], u[1], w[0] * u[0])) in (z, y, x) order of the offsets
/// - box    equal weights on a square in two dimensions: sums along y, then x, each by doubling
///          (p2[i] = u[i] + u[i+1], p4[i] = p2[i] + p2[i+2], ...; width 7 is (p4 + p2) + p1), then
///          times the weight.
enum class Form { chain, box };

/// The function applied to the sum. life: 1 where sum (9 * self + neighbours alive) is 3, 11 or 12,
/// otherwise 0.
enum class Rule { linear, life };

constexpr int largest_box_radius = 4;

/// The stencil u[t+1][p] = rule(sum over taps of weight * u[t][p + offset] + previous * u[t-1][p]);
/// the term of the previous level is absent when previous == 0, otherwise it is the last fma of the
/// chain.
struct Stencil {
  std::string name;
  int dims = 2;
  machine::List<Tap> taps;  ///< ascending in (z, y, x); no zero weights
  double previous = 0;
  Rule rule = Rule::linear;
  Form form = Form::chain;
  Index3 radius;  ///< largest distance of a tap, by dimension

  [[nodiscard]] bool two_levels() const { return previous != 0; }
  /// Returns whether all taps are on the axes, each within the same radius r >= 1 in every
  /// dimension, none missing.
  [[nodiscard]] bool is_full_star() const;
  [[nodiscard]] double weight_sum() const;
  /// Returns the sum of the taps' weights; rounded to a whole number if it is that close to one:
  /// nine ninths are 1.
  [[nodiscard]] double tap_sum() const;
};

/// Returns the stencil whose weights fill a box of `shape` points, row-major, centred at shape / 2
/// (as scipy.ndimage.correlate). Drops zero weights. Throws Error(usage) for inconsistent shapes
/// and counts and for weights that are not finite.
[[nodiscard]] Stencil make_stencil(std::string name, int dims, Index3 shape,
                                   std::span<const double> weights, double previous = 0,
                                   Rule rule = Rule::linear);

struct StencilInfo {
  std::string_view name;
  int min_dims, max_dims;
  std::string_view about;
};
/// Returns the stencils known by name.
[[nodiscard]] std::span<const StencilInfo> stencil_infos();
/// Returns the stencil of that name in `dims` dimensions; throws Error(usage) that names the
/// nearest known one.
[[nodiscard]] Stencil named_stencil(std::string_view name, int dims);

}  // namespace tessera::inline v1::stencil
