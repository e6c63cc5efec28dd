#pragma once
// Boundary conditions: the values outside the field, by side. A new one is an enumerator, its
// description, its origin and, if it repeats points, its fold: all in this file, and the compiler
// names what is missing.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/grid_view.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::stencil {

/// The boundary conditions. With a b c d at the low end: clamp a a a | a b c d; mirror d c b | a b
/// c d; reflect c b a | a b c d; periodic wraps around; constant is one value; given are values
/// that the caller wrote into the ghost layers, left unchanged. (clamp, mirror, reflect, periodic,
/// constant are nearest, mirror, reflect, wrap, constant of scipy.ndimage.) At corners the rule of
/// z applies first, then y, then x.
enum class Boundary { clamp, mirror, reflect, periodic, constant, given };

/// The description of a boundary. Synonyms are those of scipy.ndimage, OpenCV, numpy.pad and torch,
/// in lower case, without '_', '-' and "border".
struct BoundaryInfo {
  std::string_view name;
  std::string_view usage;  ///< in the help
  std::string_view synonyms;
  bool takes_value = false;  ///< NAME:VALUE
  bool on_devices = true;    ///< device kernels apply it
};
[[nodiscard]] constexpr BoundaryInfo info(Boundary kind) {
  switch (kind) {
    case Boundary::clamp:
      return {"clamp", "clamp (a a|a b c)", "nearest replicate edge"};
    case Boundary::mirror:
      return {"mirror", "mirror (c b|a b c)", "reflect101"};
    case Boundary::reflect:
      return {"reflect", "reflect (b a|a b c)", "gridmirror symmetric"};
    case Boundary::periodic:
      return {"periodic", "periodic", "wrap gridwrap circular"};
    case Boundary::constant:
      return {"constant", "constant:1.5", "gridconstant zero zeros", true};
    case Boundary::given:
      return {"given", "given", ""};
  }
  return {};
}
[[nodiscard]] constexpr std::string_view name(Boundary kind) { return info(kind).name; }

/// All boundary conditions: the values from 0 on that info() describes.
inline constexpr auto boundaries = [] {
  constexpr std::size_t count = [] {
    int n = 0;
    while (!info(static_cast<Boundary>(n)).name.empty()) ++n;
    return static_cast<std::size_t>(n);
  }();
  std::array<Boundary, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<Boundary>(i);
  return all;
}();

/// The origin of the values beyond a side.
enum class From { point, constant, given };
[[nodiscard]] TESSERA_HD constexpr From origin_of(Boundary kind) {
  switch (kind) {
    case Boundary::clamp:
    case Boundary::mirror:
    case Boundary::reflect:
    case Boundary::periodic:
      break;
    case Boundary::constant:
      return From::constant;
    case Boundary::given:
      return From::given;
  }
  return From::point;
}
/// Returns whether the values beyond such a side repeat no point of the field.
[[nodiscard]] TESSERA_HD constexpr bool is_fixed(Boundary kind) {
  return origin_of(kind) != From::point;
}

/// Returns the index whose value index i outside of [0, n) repeats, which may be outside, too.
/// Precondition: n > 1.
[[nodiscard]] TESSERA_HD constexpr index_t fold(Boundary kind, index_t i, index_t n) {
  switch (kind) {
    case Boundary::clamp:
      return i < 0 ? 0 : n - 1;
    case Boundary::mirror:
      return i < 0 ? -i : 2 * n - 2 - i;
    case Boundary::reflect:
      return i < 0 ? -1 - i : 2 * n - 1 - i;
    case Boundary::periodic:
      return i < 0 ? i + n : i - n;
    case Boundary::constant:
    case Boundary::given:
      break;
  }
  return 0;
}
/// Returns the index in [0, n) whose value index i repeats. Precondition: a kind that repeats
/// points. Takes |i| / n folds, nearly always one.
[[nodiscard]] TESSERA_HD constexpr index_t source_index(Boundary kind, index_t i, index_t n) {
  if (n <= 1) return 0;
  while (i < 0 || i >= n) i = fold(kind, i, n);
  return i;
}

/// Throws Error(usage) that names the nearest known boundary.
[[nodiscard]] Boundary parse_boundary(std::string_view text);
/// Returns "clamp (a a|a b c), ... or given".
[[nodiscard]] std::string boundary_usage();

struct Side {
  Boundary kind = Boundary::clamp;
  double value = 0;  ///< of kinds that take one
};
/// Sides by dimension (z, y, x), then low and high.
using Sides = std::array<std::array<Side, 2>, 3>;
[[nodiscard]] inline Sides all_sides(Side side) {
  return {{{side, side}, {side, side}, {side, side}}};
}

/// Throws Error(usage) for a boundary that device kernels do not apply.
void check_on_devices(const Sides& sides);

/// The origin of the value at a position, in the dimensions that are not periodic.
struct Origin {
  Index3 p;                     ///< the point of the field, unless fixed
  const Side* fixed = nullptr;  ///< the constant or given side beyond which p lies
};
[[nodiscard]] inline Origin origin_of(const Sides& sides, Index3 global, Index3 p) {
  for (int d = 0; d < 3; ++d) {
    const auto& both = sides[static_cast<std::size_t>(d)];
    if (both[0].kind == Boundary::periodic || (p[d] >= 0 && p[d] < global[d])) continue;
    const Side& side = both[p[d] < 0 ? 0 : 1];
    if (is_fixed(side.kind)) return {p, &side};
    p[d] = source_index(side.kind, p[d], global[d]);
  }
  return {p};
}

/// Returns the value at p, which may be outside the field: field(q) of a point q of it, given(q)
/// beyond a given side.
template <class Field, class Given>
[[nodiscard]] auto value_at(const Sides& sides, Index3 global, Index3 p, const Field& field,
                            const Given& given) {
  using T = std::remove_cvref_t<decltype(given(p))>;
  const Origin origin = origin_of(sides, global, p);
  switch (origin.fixed == nullptr ? From::point : origin_of(origin.fixed->kind)) {
    case From::point:
      break;
    case From::constant:
      return static_cast<T>(origin.fixed->value);
    case From::given:
      return static_cast<T>(given(origin.p));
  }
  return static_cast<T>(field(origin.p));
}

}  // namespace tessera::inline v1::stencil
