#pragma once
// Counter-based random values: a function of the seed and the *global* index, so that the data is
// independent of the number of ranks (idea: Salmon et al. 2011).

#include <cstdint>

#include "base/complex.hpp"
#include "base/hash.hpp"
#include "base/index.hpp"

namespace tessera::inline v1 {

/// Returns 64 random bits for (seed, stream, index).
[[nodiscard]] TESSERA_HD constexpr std::uint64_t random_bits(std::uint64_t seed,
                                                             std::uint64_t stream, index_t index) {
  return mix64(mix64(seed ^ mix64(stream)) ^ static_cast<std::uint64_t>(index));
}

/// Returns a value uniform in [-1, 1) with as many random bits as T's significand holds; for a
/// complex T both parts are such values.
template <class T>
[[nodiscard]] TESSERA_HD constexpr T random_symmetric(std::uint64_t seed, std::uint64_t stream,
                                                      index_t index) {
  if constexpr (is_complex<T>) {
    return {random_symmetric<Real<T>>(seed, stream, 2 * index),
            random_symmetric<Real<T>>(seed, stream, 2 * index + 1)};
  } else {
    constexpr int digits = std::numeric_limits<T>::digits;
    const auto bits = random_bits(seed, stream, index) >> (64 - digits);
    return static_cast<T>(bits) * (T{2} / static_cast<T>(std::uint64_t{1} << digits)) - T{1};
  }
}

}  // namespace tessera::inline v1
