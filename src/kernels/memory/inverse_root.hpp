#pragma once
// Inverse square roots on the CPU: by division and root, and by the bits of the number.

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/index.hpp"

namespace tessera::inline v1::memory {

enum class Root {
  divide,  ///< 1 / sqrt(x)
  fast     ///< fast_inverse_root(x)
};

/// Returns an estimate of 1 / sqrt(x) for positive x whose largest relative error is 0.0018: the
/// exponent is halved by a shift of the bits, then one step of Newton (0x5f3759df of id Software
/// 1999; Lomont 2003).
[[nodiscard]] inline float fast_inverse_root(float x) {
  const float y = std::bit_cast<float>(0x5f3759dfU - (std::bit_cast<std::uint32_t>(x) >> 1));
  return y * (1.5F - 0.5F * x * y * y);
}

struct RootCost {
  double seconds;  ///< a root, in a loop over numbers in the first-level cache; one thread
  double error;    ///< largest relative error among these numbers
};
/// Returns the least of a few runs.
[[nodiscard]] RootCost root_cost(Root kind);

}  // namespace tessera::inline v1::memory
