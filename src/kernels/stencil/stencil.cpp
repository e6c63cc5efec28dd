// The stencils known by name, and stencils from dense weights.

#include "kernels/stencil/stencil.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"

namespace tessera::inline v1::stencil {
namespace {

bool is_square_box(const Stencil& s) {
  const index_t r = s.radius[2];
  if (s.dims != 2 || s.radius[1] != r || r < 1 || r > largest_box_radius || s.rule != Rule::linear)
    return false;
  if (s.two_levels() || static_cast<index_t>(s.taps.size()) != (2 * r + 1) * (2 * r + 1))
    return false;
  return std::all_of(s.taps.begin(), s.taps.end(),
                     [&](const Tap& tap) { return tap.weight == s.taps[0].weight; });
}

/// What a step does besides the sum over the taps.
struct Update {
  double previous = 0;  ///< weight of the previous level
  Rule rule = Rule::linear;
};

/// Returns the stencil with dense weights of a cube of edge 2 * radius + 1 in dims dimensions,
/// filled by weight(offset).
template <class F>
Stencil from_function(std::string name, int dims, index_t radius, Update update, const F& weight) {
  Index3 shape{{1, 1, 1}};
  for (int d = 3 - dims; d < 3; ++d) shape[d] = 2 * radius + 1;
  machine::List<double> weights;
  for (index_t z = -(shape[0] / 2); z <= shape[0] / 2; ++z) {
    for (index_t y = -(shape[1] / 2); y <= shape[1] / 2; ++y) {
      for (index_t x = -radius; x <= radius; ++x) weights.push_back(weight(Index3{{z, y, x}}));
    }
  }
  return make_stencil(std::move(name), dims, shape, weights, update.previous, update.rule);
}

int axes_used(Index3 p) { return (p[0] != 0) + (p[1] != 0) + (p[2] != 0); }

/// Returns a star of radius 1: centre on the middle, side on its nearest neighbours along the axes.
Stencil cross(std::string name, int dims, double centre, double side, double previous = 0) {
  return from_function(std::move(name), dims, 1, {.previous = previous}, [=](Index3 p) {
    const int used = axes_used(p);
    return used == 0 ? centre : used == 1 ? side : 0.0;
  });
}

Stencil star(std::string name, int dims, index_t radius) {
  const double weight = 1.0 / static_cast<double>(2 * dims * radius + 1);
  return from_function(std::move(name), dims, radius, {},
                       [=](Index3 p) { return axes_used(p) <= 1 ? weight : 0.0; });
}

Stencil box(std::string name, index_t radius) {
  const double weight = 1.0 / static_cast<double>((2 * radius + 1) * (2 * radius + 1));
  return from_function(std::move(name), 2, radius, {}, [=](Index3) { return weight; });
}

/// Returns first-order upwind advection with Courant numbers 1/4, 1/8, 1/16 along x, y, z, flow
/// towards larger indices.
Stencil advection(std::string name, int dims) {
  constexpr std::array<double, 3> courant{1.0 / 16, 1.0 / 8, 1.0 / 4};
  return from_function(std::move(name), dims, 1, {}, [=](Index3 p) {
    double centre = 1;
    for (int d = 3 - dims; d < 3; ++d) centre -= courant[static_cast<std::size_t>(d)];
    if (axes_used(p) == 0) return centre;
    if (axes_used(p) > 1) return 0.0;
    for (int d = 0; d < 3; ++d) {
      if (p[d] == -1) return courant[static_cast<std::size_t>(d)];
    }
    return 0.0;
  });
}

constexpr std::array<StencilInfo, 13> known{{
    {"heat", 1, 3, "explicit heat equation, diffusion number 1/8; weights sum to 1"},
    {"laplace", 1, 3, "Jacobi iteration, mean of the nearest neighbours"},
    {"advection", 1, 3, "first-order upwind, Courant numbers 1/4, 1/8, 1/16 along x, y, z"},
    {"wave", 1, 3, "wave equation, leapfrog over two time levels, squared Courant number 1/4"},
    {"box3x3", 2, 2, "mean of 3 x 3 points"},
    {"box5x5", 2, 2, "mean of 5 x 5 points"},
    {"box7x7", 2, 2, "mean of 7 x 7 points"},
    {"box9x9", 2, 2, "mean of 9 x 9 points"},
    {"star1", 1, 3, "mean of the points on the axes up to distance 1"},
    {"star2", 1, 3, "mean of the points on the axes up to distance 2"},
    {"star3", 1, 3, "mean of the points on the axes up to distance 3"},
    {"star4", 1, 3, "mean of the points on the axes up to distance 4"},
    {"life", 2, 2, "Conway's game of life on 0 and 1"},
}};

}  // namespace

bool Stencil::is_full_star() const {
  const index_t r = radius[2];
  for (int d = 3 - dims; d < 3; ++d) {
    if (radius[d] != r) return false;
  }
  if (r < 1 || static_cast<index_t>(taps.size()) != 2 * dims * r + 1) return false;
  return std::all_of(taps.begin(), taps.end(),
                     [](const Tap& tap) { return axes_used(tap.offset) <= 1; });
}

double Stencil::weight_sum() const {
  double sum = previous;
  for (const Tap& tap : taps) sum += tap.weight;
  return sum;
}

double Stencil::tap_sum() const {
  double sum = 0;
  for (const Tap& tap : taps) sum += tap.weight;
  const double whole = std::round(sum);
  return std::abs(sum - whole) <= 1e-12 ? whole : sum;
}

Stencil make_stencil(std::string name, int dims, Index3 shape, std::span<const double> weights,
                     double previous, Rule rule) {
  require_argument(dims >= 1 && dims <= 3, "dims",
                   "is out of range: a stencil has 1, 2 or 3 dimensions");
  for (int d = 0; d < 3; ++d) {
    require_argument(shape[d] >= 1 && shape[d] <= 1024 && (d >= 3 - dims || shape[d] == 1),
                     "stencil", [&] {
                       return fmt::format(
                           "'{}' has a box of {} x {} x {} weights: must be 1 to 1024 in each of "
                           "{} dimension(s)",
                           name, shape[0], shape[1], shape[2], dims);
                     });
  }
  require_argument(static_cast<index_t>(weights.size()) == shape.volume(), "stencil", [&] {
    return fmt::format("'{}' has {} weights: its box needs {}", name, weights.size(),
                       shape.volume());
  });
  Stencil stencil{std::move(name), dims, {}, previous, rule, Form::chain, {}};
  std::size_t i = 0;
  for (index_t z = 0; z < shape[0]; ++z) {
    for (index_t y = 0; y < shape[1]; ++y) {
      for (index_t x = 0; x < shape[2]; ++x, ++i) {
        if (!std::isfinite(weights[i])) {
          throw Error(ExitCode::bad_data,
                      fmt::format("stencil '{}': weight {} is not finite", stencil.name, i));
        }
        if (weights[i] == 0) continue;
        const Index3 offset{{z - shape[0] / 2, y - shape[1] / 2, x - shape[2] / 2}};
        stencil.taps.push_back({offset, weights[i]});
        for (int d = 0; d < 3; ++d)
          stencil.radius[d] = std::max(stencil.radius[d], std::abs(offset[d]));
      }
    }
  }
  require_argument(!stencil.taps.empty(), "stencil", [&] {
    return fmt::format("'{}' has only zero weights: at least one must be nonzero", stencil.name);
  });
  if (is_square_box(stencil)) stencil.form = Form::box;
  return stencil;
}

std::span<const StencilInfo> stencil_infos() { return known; }

Stencil named_stencil(std::string_view name, int dims) {
  const auto row = std::find_if(known.begin(), known.end(),
                                [&](const StencilInfo& s) { return s.name == name; });
  if (row == known.end()) {
    std::vector<std::string> names;
    for (const StencilInfo& s : known) names.emplace_back(s.name);
    throw Error::of_argument("stencil",
                             fmt::format("'{}' is unknown{}", name, suggestion(name, names)));
  }
  require_argument(dims >= row->min_dims && dims <= row->max_dims, "stencil", [&] {
    return fmt::format("'{}' is not defined in {} dimension(s)", name, dims);
  });
  std::string own(name);
  if (name == "heat") return cross(own, dims, 1 - 2 * dims * 0.125, 0.125);
  if (name == "laplace") return cross(own, dims, 0, 0.5 / dims);
  if (name == "wave") return cross(own, dims, 2 - 2 * dims * 0.25, 0.25, -1);
  if (name == "advection") return advection(own, dims);
  if (name == "life") {
    return from_function(own, 2, 1, {.rule = Rule::life},
                         [](Index3 p) { return axes_used(p) == 0 ? 9.0 : 1.0; });
  }
  if (name.starts_with("star")) return star(own, dims, name.back() - '0');
  return box(own, (name.back() - '0') / 2);
}

}  // namespace tessera::inline v1::stencil
