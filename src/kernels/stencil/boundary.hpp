#pragma once
// What lies outside the field, by side.

#include <array>
#include <string_view>

#include "base/index.hpp"

namespace tessera::stencil {

/// With a b c d at the low end: clamp a a a | a b c d; mirror d c b | a b c d; reflect c b a | a b c d;
/// periodic wraps around; constant is one value; given are values that the caller wrote into the ghost
/// layers, kept as they are. (clamp, mirror, reflect, periodic, constant are nearest, mirror, reflect, wrap,
/// constant of scipy.ndimage.) At corners the rule of z comes first, then that of y, then that of x.
enum class Boundary { clamp, mirror, reflect, periodic, constant, given };

inline constexpr std::array<std::string_view, 6> boundary_names{"clamp",    "mirror",   "reflect",
                                                                "periodic", "constant", "given"};
[[nodiscard]] constexpr std::string_view name(Boundary kind) {
  return boundary_names[static_cast<std::size_t>(kind)];
}
/// Throws Error(usage) naming the nearest known one.
[[nodiscard]] Boundary parse_boundary(std::string_view text);

struct Side {
  Boundary kind = Boundary::clamp;
  double value = 0;  ///< of constant
};
/// By dimension (z, y, x), then low and high.
using Sides = std::array<std::array<Side, 2>, 3>;
[[nodiscard]] inline Sides all_sides(Side side) { return {{{side, side}, {side, side}, {side, side}}}; }

/// The index in [0, n) whose value index i outside of it repeats. For kinds that repeat: neither constant nor
/// given.
[[nodiscard]] TESSERA_HD constexpr index_t source_index(Boundary kind, index_t i, index_t n) {
  if (kind == Boundary::clamp) return i < 0 ? 0 : i >= n ? n - 1 : i;
  if (kind == Boundary::mirror && n == 1) return 0;
  const index_t period = kind == Boundary::periodic ? n : kind == Boundary::mirror ? 2 * n - 2 : 2 * n;
  const index_t folded = ((i % period) + period) % period;
  if (folded < n) return folded;
  return kind == Boundary::mirror ? period - folded : period - 1 - folded;
}

}  // namespace tessera::stencil
