#pragma once
// Sizes: one signed 64-bit type everywhere, with checked products and conversions.

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace tessera::inline v1 {

using index_t = std::int64_t;

/// Converts value to To; throws Error(usage) if To cannot hold it. For calls of MPI, BLAS and CUDA
/// only.
template <class To, class From>
[[nodiscard]] To narrow(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  require(std::in_range<To>(value), ExitCode::usage,
          "a size exceeds the 32-bit count of a library call; use more ranks or smaller sizes");
  return static_cast<To>(value);
}

namespace detail {
[[noreturn]] void product_overflows(index_t a, index_t b, const char* what);
}
/// Returns a * b; throws Error(usage) naming `what` if it overflows 64 bits.
[[nodiscard]] inline index_t checked_mul(index_t a, index_t b, const char* what) {
  index_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) detail::product_overflows(a, b, what);
  return product;
}

[[nodiscard]] constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }
[[nodiscard]] constexpr index_t round_up(index_t a, index_t b) { return ceil_div(a, b) * b; }

}  // namespace tessera::inline v1
