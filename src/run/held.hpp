#pragma once
// Range checks of option values, which are parsed as f64, in the element type of the computation.

#include <cmath>
#include <limits>
#include <string>

#include "base/element.hpp"

namespace tessera::inline v1::run {

/// Returns whether a real type, or each part of a complex one, represents the value up to rounding:
/// neither overflowing to infinity nor underflowing to zero.
[[nodiscard]] inline bool holds(Element element, double value) {
  const auto is_kept = [value](auto convert) {
    if (std::abs(value) > std::numeric_limits<float>::max())
      return false;  // the conversion is undefined there
    const float kept = convert();
    return std::isfinite(kept) && (kept != 0) == (value != 0);
  };
  switch (element) {
    case Element::f16:
      return is_kept([value] { return static_cast<float>(Half(value)); });
    case Element::f32:
    case Element::c64:
      return is_kept([value] { return static_cast<float>(value); });
    case Element::f64:
    case Element::c128:
    case Element::i32:
    case Element::i64:
    case Element::u32:
    case Element::u64:
      break;
  }
  return true;
}

/// Throws Error(usage) unless holds(). what: the option and its value.
inline void require_held(Element element, double value, const std::string& what) {
  require(holds(element, value), ExitCode::usage,
          std::string(name(element)) + " cannot represent " + what + "; use a wider --type");
}

}  // namespace tessera::inline v1::run
