#pragma once
// bfloat16 numbers, the upper half of a float: a storage type; arithmetic is in float.

#include <cstdint>
#include <string_view>

#include "base/half.hpp"
#include "base/index.hpp"

namespace tessera::inline v1 {

/// Returns the nearest bfloat16, ties to even; infinity from the middle above the largest one on.
/// A NaN keeps the leading bits of its payload and becomes quiet.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint16_t bfloat16_bits(float value) {
  const auto word = __builtin_bit_cast(std::uint32_t, value);
  const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t rounded = word + 0x7fffU + (word >> 16 & 1U);
  return static_cast<std::uint16_t>((is_nan ? word | 0x400000U : rounded) >> 16);
}

[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr float bfloat16_value(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

struct BFloat16 {
  std::uint16_t bits;

  BFloat16() = default;
  TESSERA_HD constexpr explicit BFloat16(float value) : bits(bfloat16_bits(value)) {}
  template <class Number>
  TESSERA_HD constexpr explicit BFloat16(Number value)
      : bits(bfloat16_bits(to_odd(static_cast<double>(value)))) {}
  TESSERA_HD constexpr explicit operator float() const { return bfloat16_value(bits); }
  TESSERA_HD constexpr explicit operator double() const {
    return static_cast<double>(bfloat16_value(bits));
  }
};

template <>
struct ArithmeticOf<BFloat16> {
  using type = float;
};

/// Whether elements are stored in 16 bits and computed with in float.
template <class T>
inline constexpr bool is_stored_half = false;
template <>
inline constexpr bool is_stored_half<Half> = true;
template <>
inline constexpr bool is_stored_half<BFloat16> = true;
/// The name of a half's type in options and messages.
template <class T>
inline constexpr std::string_view name_of_half = "f16";
template <>
inline constexpr std::string_view name_of_half<BFloat16> = "bf16";

}  // namespace tessera::inline v1
