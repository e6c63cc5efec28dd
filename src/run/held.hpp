#pragma once
// Numbers of options, which are read as f64, in the type that is computed in.

#include <cmath>
#include <limits>
#include <string>

#include "base/element.hpp"

namespace tessera::run {

/// Whether a real type, or each part of a complex one, holds such a number but for rounding: as no infinity,
/// and as zero only if it is.
[[nodiscard]] inline bool holds(Element element, double value) {
  const bool half = element == Element::f16, single = element == Element::f32 || element == Element::c64;
  if (!half && !single) return true;
  if (std::abs(value) > std::numeric_limits<float>::max()) return false;  // no conversion is defined there
  const auto kept = half ? static_cast<float>(Half(value)) : static_cast<float>(value);
  return std::isfinite(kept) && (kept != 0) == (value != 0);
}

/// what: the option and its value.
inline void require_held(Element element, double value, const std::string& what) {
  require(holds(element, value), ExitCode::usage,
          std::string(name(element)) + " does not hold " + what + "; take a wider --type");
}

}  // namespace tessera::run
