#include "base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/bfloat16.hpp"
#include "base/foreign.hpp"

namespace tessera {
namespace {

/// Every half converts to itself, and values between two neighbours round to nearest, ties to even.
TEST(Half, RoundsToTheNearest) {
  for (unsigned bits = 0; bits < 0x7c00U; ++bits) {
    const auto low = half_value(static_cast<std::uint16_t>(bits)),
               high = bits + 1 == 0x7c00U ? 65536.0F
                                          : half_value(static_cast<std::uint16_t>(bits + 1));
    ASSERT_LT(low, high);
    ASSERT_EQ(half_bits(low), bits);
    ASSERT_EQ(half_bits(-low), bits | 0x8000U);
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(half_bits(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(half_bits(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(half_bits(std::nextafter(middle, 1e9F)), bits + 1);
  }
}

TEST(Half, KnowsItsValues) {
  EXPECT_EQ(static_cast<float>(Half(1)), 1);
  EXPECT_EQ(Half(1).bits, 0x3c00U);
  EXPECT_EQ(Half(-2.5).bits, 0xc100U);
  EXPECT_EQ(half_value(1), 0x1p-24F);
  EXPECT_EQ(half_value(0x0400), 0x1p-14F);
  EXPECT_EQ(half_value(0x7bff), 65504);
}

/// Doubles round once, not first to a float and then to a half.
TEST(Half, RoundsDoublesOnce) {
  for (unsigned bits = 0; bits + 1 < 0x7c00U; ++bits) {
    const double low = half_value(static_cast<std::uint16_t>(bits)),
                 high = half_value(static_cast<std::uint16_t>(bits + 1)),
                 middle = low + (high - low) / 2;
    ASSERT_EQ(Half(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(Half(std::nextafter(middle, 0.0)).bits, bits);
    ASSERT_EQ(Half(std::nextafter(middle, 1e9)).bits, bits + 1);
    ASSERT_EQ(Half(-std::nextafter(middle, 1e9)).bits, (bits + 1) | 0x8000U);
  }
  EXPECT_EQ(Half(65520.0).bits, 0x7c00U);
  EXPECT_EQ(Half(std::nextafter(65520.0, 0.0)).bits, 0x7bffU);
  EXPECT_EQ(Half(1e300).bits, 0x7c00U);
  EXPECT_EQ(Half(-1e-300).bits, 0x8000U);
  EXPECT_EQ(Half(index_t{1} << 40).bits, 0x7c00U);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::numeric_limits<double>::quiet_NaN()))));
}

TEST(Half, InfinitiesAndNaNsStayWhatTheyAre) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(half_bits(infinity), 0x7c00U);
  EXPECT_EQ(half_bits(-infinity), 0xfc00U);
  EXPECT_EQ(half_bits(1e30F), 0x7c00U);
  EXPECT_EQ(half_value(0x7c00), infinity);
  EXPECT_TRUE(std::isnan(half_value(half_bits(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(half_value(0x7c01)));
  EXPECT_EQ(half_bits(half_value(0xfe15)), 0xfe15U);
}

/// Every bfloat16 converts to itself, and values between two neighbours, also doubles, round once
/// to nearest, ties to even.
TEST(BFloat16, RoundsToTheNearest) {
  for (unsigned bits = 0; bits < 0x7f80U; ++bits) {
    const float low = bfloat16_value(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(bfloat16_bits(low), bits);
    ASSERT_EQ(bfloat16_bits(-low), bits | 0x8000U);
    const auto middle = __builtin_bit_cast(float, bits << 16 | 0x8000U);
    ASSERT_EQ(bfloat16_bits(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(bfloat16_bits(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(bfloat16_bits(std::nextafter(middle, std::numeric_limits<float>::infinity())),
              bits + 1);
    const double wide = middle;
    ASSERT_EQ(BFloat16(std::nextafter(wide, 0.0)).bits, bits);
    ASSERT_EQ(BFloat16(std::nextafter(wide, 1e300)).bits, bits + 1);
  }
}

TEST(BFloat16, InfinitiesAndNaNsStayWhatTheyAre) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(BFloat16(infinity).bits, 0x7f80U);
  EXPECT_EQ(BFloat16(-infinity).bits, 0xff80U);
  EXPECT_EQ(BFloat16(1e300).bits, 0x7f80U);
  EXPECT_EQ(BFloat16(1).bits, 0x3f80U);
  EXPECT_EQ(static_cast<double>(BFloat16(-2.5)), -2.5);
  EXPECT_TRUE(std::isnan(bfloat16_value(0x7f81)));
  for (const unsigned nan : {0x7f800001U, 0x7fffffffU, 0xffc00000U, 0xff808000U})
    EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(__builtin_bit_cast(float, nan))))) << nan;
}

TEST(Foreign, TypesHaveTheirCounterparts) {
  static_assert(std::is_same_v<Own<__half>, Half> && std::is_same_v<Factor<__half>, float>);
  static_assert(std::is_same_v<Own<__nv_bfloat16>, BFloat16>);
  static_assert(std::is_same_v<Own<std::complex<float>>, Complex<float>>);
  static_assert(!is_foreign<float> && !is_foreign<Half> && is_foreign<std::complex<double>>);
  static_assert(std::is_same_v<Factor<std::complex<double>>, std::complex<double>>);
  EXPECT_EQ(own(std::complex<float>(1, 2)), (Complex<float>{1, 2}));
}

}  // namespace
}  // namespace tessera
