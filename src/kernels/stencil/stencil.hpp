#pragma once
// A stencil as data: offsets with weights, and the one order in which every variant sums them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/grid_view.hpp"

namespace tessera::stencil {

/// One neighbour: u[p + offset] * weight.
struct Tap {
  Index3 offset;
  double weight;
};

/// How the weighted neighbours become a sum. The order is part of the stencil, so that scalar,
/// vector, edge and device code give the same bits:
///   chain  fma(w[n-1], u[n-1], ... fma(w[1], u[1], w[0] * u[0])) in the order of the offsets (z,
///   y, x); box    equal weights on a square in two dimensions: sums along y, then along x, each by
///   doubling
///          (p2[i] = u[i] + u[i+1], p4[i] = p2[i] + p2[i+2], ...; width 7 is (p4 + p2) + p1), then
///          times the weight.
enum class Form { chain, box };

/// What is done with the sum. life: 1 where sum (9 * self + neighbours alive) is 3, 11 or 12, else
/// 0.
enum class Rule { linear, life };

constexpr int largest_box_radius = 4;

/// u[t+1][p] = rule(sum over taps of weight * u[t][p + offset] + previous * u[t-1][p]); the term of
/// the previous level is absent when previous == 0, else it is the last fma of the chain.
struct Stencil {
  std::string name;
  int dims = 2;
  std::vector<Tap> taps;  ///< ascending in (z, y, x); no zero weights
  double previous = 0;
  Rule rule = Rule::linear;
  Form form = Form::chain;
  Index3 radius;  ///< largest distance of a tap, by dimension

  [[nodiscard]] bool two_levels() const { return previous != 0; }
  /// Whether all taps lie on the axes, each of them within the same radius r >= 1 in every
  /// dimension, none missing.
  [[nodiscard]] bool is_full_star() const;
  [[nodiscard]] double weight_sum() const;
  /// That of the taps alone; a whole number if that is how near it is: nine ninths are 1.
  [[nodiscard]] double tap_sum() const;
};

/// The stencil whose weights fill a box of `shape` points, row-major, centred at shape / 2 (as
/// scipy.ndimage.correlate). Zero weights are dropped. Throws Error(usage) for shapes and counts
/// that do not agree, and for weights not finite.
[[nodiscard]] Stencil make_stencil(std::string name, int dims, Index3 shape,
                                   std::span<const double> weights, double previous = 0,
                                   Rule rule = Rule::linear);

struct StencilInfo {
  std::string_view name;
  int min_dims, max_dims;
  std::string_view about;
};
/// The stencils known by name.
[[nodiscard]] std::span<const StencilInfo> stencil_infos();
/// The stencil of that name in `dims` dimensions; throws Error(usage) naming the nearest known one.
[[nodiscard]] Stencil named_stencil(std::string_view name, int dims);

}  // namespace tessera::stencil
