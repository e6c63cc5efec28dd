#pragma once
// IEEE binary16 numbers: a storage type; arithmetic is in float.

#include <cstdint>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// Returns the nearest half, ties to even; infinity from 65520 on. A NaN keeps the leading bits of
/// its payload, as in hardware conversions. Always inlined, because sources compiled for several
/// instruction sets use it.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint16_t half_bits(float value) {
  const auto word = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = word >> 16 & 0x8000U, size = word & 0x7fffffffU;
  constexpr std::uint32_t infinity = 0x7f800000U, too_large = 0x477ff000U, normal = 0x38800000U;
  std::uint32_t half = 0;
  if (size > infinity) {
    half = 0x7e00U | (size >> 13 & 0x3ffU);
  } else if (size >= too_large) {
    half = 0x7c00U;
  } else if (size < normal) {  // subnormal: steps of 2^-24, the spacing of floats in [0.5, 1)
    half = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, size) + 0.5F) - 0x3f000000U;
  } else {
    half = (size - 0x38000000U + 0xfffU + (size >> 13 & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, size = bits & 0x7fffU, exponent = size >> 10;
  const float tiny = static_cast<float>(size) * 0x1p-24F;  // value if the exponent is 0
  const std::uint32_t word = exponent == 31  ? 0x7f800000U | (size & 0x3ffU) << 13
                             : exponent == 0 ? __builtin_bit_cast(std::uint32_t, tiny)
                                             : (size << 13) + 0x38000000U;
  return __builtin_bit_cast(float, sign | word);
}

/// Rounds to odd: towards zero, with the last bit set if the result is inexact. A later rounding to
/// fewer bits then equals a single rounding of value.
[[nodiscard]] TESSERA_HD constexpr float to_odd(double value) {
  const auto near = static_cast<float>(value);
  const auto back = static_cast<double>(near);
  if (back == value || value != value) return near;
  auto word = __builtin_bit_cast(std::uint32_t, near);
  const bool away = (back < 0 ? -back : back) > (value < 0 ? -value : value);
  word = (away ? word - 1 : word) | 1U;
  return __builtin_bit_cast(float, word);
}

struct Half {
  std::uint16_t bits;

  Half() = default;
  TESSERA_HD constexpr explicit Half(float value) : bits(half_bits(value)) {}
  template <class Number>
  TESSERA_HD constexpr explicit Half(Number value)
      : bits(half_bits(to_odd(static_cast<double>(value)))) {}
  TESSERA_HD constexpr explicit operator float() const { return half_value(bits); }
  TESSERA_HD constexpr explicit operator double() const {
    return static_cast<double>(half_value(bits));
  }
};

template <class T>
struct ArithmeticOf {
  using type = T;
};
template <>
struct ArithmeticOf<Half> {
  using type = float;
};
/// The type of arithmetic on elements stored as T.
template <class T>
using Arithmetic = typename ArithmeticOf<T>::type;

}  // namespace tessera::inline v1
