#include "io/conversion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::io {
namespace {

/// Returns numbers converted by HDF5 in a separate buffer, with or without a transfer property list
/// of Tessera.
template <class To, class From>
std::vector<To> converted(hid_t from, hid_t to, const std::vector<From>& numbers, hid_t list) {
  quiet_errors();
  const std::size_t bytes = numbers.size() * std::max(sizeof(From), sizeof(To));
  std::vector<std::byte> data(bytes);
  std::memcpy(data.data(), numbers.data(), numbers.size() * sizeof(From));
  if (H5Tconvert(from, to, numbers.size(), data.data(), nullptr, list) < 0) return {};
  std::vector<To> results(numbers.size());
  std::memcpy(results.data(), data.data(), numbers.size() * sizeof(To));
  return results;
}

TEST(Conversion, OfTransfersThatAreNotOursTakesTheNearestThatThereIs) {
  const double large = 1e300, infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{2.75, -2.75, large, -large, infinite, NAN, -0.0};
  EXPECT_EQ((converted<std::int32_t>(H5T_NATIVE_DOUBLE, H5T_NATIVE_INT32, numbers, H5P_DEFAULT)),
            (std::vector<std::int32_t>{2, -2, INT32_MAX, INT32_MIN, INT32_MAX, 0, 0}));
  const auto floats = converted<float>(H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, numbers, H5P_DEFAULT);
  EXPECT_EQ(floats[2], std::numeric_limits<float>::infinity());
  EXPECT_EQ(floats[3], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(floats[5]));
  EXPECT_TRUE(std::signbit(floats[6]));
  const std::vector<std::int64_t> wide{(std::int64_t{1} << 53) + 1, -1};
  EXPECT_EQ((converted<double>(H5T_STD_I64LE, H5T_NATIVE_DOUBLE, wide, H5P_DEFAULT)),
            (std::vector<double>{0x1p53, -1}));
  EXPECT_EQ((converted<std::uint8_t>(H5T_STD_I64LE, H5T_NATIVE_UINT8, wide, H5P_DEFAULT)),
            (std::vector<std::uint8_t>{255, 0}));
}

TEST(Conversion, OfOursRefusesThem) {
  for (const double number : {1e39, -3.41e38, 3.4028235677973366e38}) {
    const Transfer transfer;
    std::array<double, 3> data{1, number, 2};
    const herr_t result =
        H5Tconvert(H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, 3, data.data(), nullptr, H5P_DEFAULT);
    EXPECT_TRUE(transfer.refused(result, "data")) << number;
    EXPECT_THROW(transfer.check(result, H5T_NATIVE_FLOAT, "data"), Error);
  }
  const Transfer transfer;  // rounds to the largest number in either byte order
  EXPECT_EQ((converted<float>(H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT,
                              std::vector<double>{3.402823517e38}, H5P_DEFAULT)),
            std::vector<float>{std::numeric_limits<float>::max()});
}

/// F_floating of the VAX manuals: 16-bit words, most significant first, each little-endian; no
/// infinities, no subnormals.
TEST(Conversion, KnowsVaxFloats) {
  using Word = std::array<std::uint8_t, 4>;
  const std::vector<Word> numbers{{0x80, 0x40, 0, 0},
                                  {0x20, 0xc1, 0, 0},
                                  {0, 0, 0, 0},
                                  {0x49, 0x41, 0xd0, 0x0f},
                                  {0xff, 0x7f, 0xff, 0xff}};
  const auto values = converted<double>(H5T_VAX_F32, H5T_NATIVE_DOUBLE, numbers, H5P_DEFAULT);
  ASSERT_EQ(values.size(), numbers.size());
  EXPECT_EQ(values[0], 1.0);
  EXPECT_EQ(values[1], -2.5);
  EXPECT_EQ(values[2], 0.0);
  EXPECT_NEAR(values[3], 3.14159, 1e-6);
  EXPECT_EQ(values[4], std::ldexp(1 - 0x1p-24, 127));
}

TEST(ToText, TellsNumbersFromTheirNeighbours) {
  const auto text = [](double value) {
    std::array<std::byte, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    return to_text(decode(binary64(), bytes.data()));
  };
  EXPECT_EQ(text(-1e300), "-1e+300");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(NAN), "nan");
  EXPECT_EQ(text(-INFINITY), "-inf");
  EXPECT_EQ(to_text({.negative = true, .digits = ~std::uint64_t{0}}), "-18446744073709551615");
}

}  // namespace
}  // namespace tessera::io
