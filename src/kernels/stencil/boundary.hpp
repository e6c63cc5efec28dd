#pragma once
// Boundary conditions: the values outside the field, by side.

#include <array>
#include <string_view>

#include "base/index.hpp"

namespace tessera::stencil {

/// The boundary conditions. With a b c d at the low end: clamp a a a | a b c d; mirror d c b | a b
/// c d; reflect c b a | a b c d; periodic wraps around; constant is one value; given are values
/// that the caller wrote into the ghost layers, left unchanged. (clamp, mirror, reflect, periodic,
/// constant are nearest, mirror, reflect, wrap, constant of scipy.ndimage.) At corners the rule of
/// z applies first, then y, then x.
enum class Boundary { clamp, mirror, reflect, periodic, constant, given };

inline constexpr std::array<Boundary, 6> boundaries{Boundary::clamp,    Boundary::mirror,
                                                    Boundary::reflect,  Boundary::periodic,
                                                    Boundary::constant, Boundary::given};
[[nodiscard]] constexpr std::string_view name(Boundary kind) {
  switch (kind) {
    case Boundary::clamp:
      return "clamp";
    case Boundary::mirror:
      return "mirror";
    case Boundary::reflect:
      return "reflect";
    case Boundary::periodic:
      return "periodic";
    case Boundary::constant:
      return "constant";
    case Boundary::given:
      break;
  }
  return "given";
}
/// Throws Error(usage) that names the nearest known boundary.
[[nodiscard]] Boundary parse_boundary(std::string_view text);

struct Side {
  Boundary kind = Boundary::clamp;
  double value = 0;  ///< of constant
};
/// Sides by dimension (z, y, x), then low and high.
using Sides = std::array<std::array<Side, 2>, 3>;
[[nodiscard]] inline Sides all_sides(Side side) {
  return {{{side, side}, {side, side}, {side, side}}};
}

/// Returns the index in [0, n) whose value index i outside of it repeats. Precondition: a kind that
/// repeats, neither constant nor given.
[[nodiscard]] TESSERA_HD constexpr index_t source_index(Boundary kind, index_t i, index_t n) {
  const auto folded = [i](index_t period) { return ((i % period) + period) % period; };
  switch (kind) {
    case Boundary::clamp:
      return i < 0 ? 0 : i >= n ? n - 1 : i;
    case Boundary::mirror: {
      if (n == 1) return 0;
      const index_t at = folded(2 * n - 2);
      return at < n ? at : 2 * n - 2 - at;
    }
    case Boundary::reflect: {
      const index_t at = folded(2 * n);
      return at < n ? at : 2 * n - 1 - at;
    }
    case Boundary::periodic:
      return folded(n);
    case Boundary::constant:
    case Boundary::given:
      break;
  }
  return i;
}

/// Returns whether the values beyond such a side repeat no point of the field.
[[nodiscard]] TESSERA_HD constexpr bool is_fixed(Boundary kind) {
  switch (kind) {
    case Boundary::constant:
    case Boundary::given:
      return true;
    case Boundary::clamp:
    case Boundary::mirror:
    case Boundary::reflect:
    case Boundary::periodic:
      break;
  }
  return false;
}

}  // namespace tessera::stencil
