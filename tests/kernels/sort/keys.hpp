#pragma once
// Common parts of the tests of sorts: key types and inputs.

#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <vector>

#include "kernels/sort/inputs.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr std::uint64_t key_seed = 7;

template <class T>
struct Keys : testing::Test {};
using KeyTypes =
    testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
template <class T>
std::vector<T> make(std::string_view name, index_t n) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  generate<T>(input(name), key_seed, 0, n, keys);
  return keys;
}

template <class T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {
        L::infinity(),   -L::infinity(),   T{0},     -T{0},       L::quiet_NaN(), -L::quiet_NaN(),
        L::denorm_min(), -L::denorm_min(), L::max(), L::lowest(), T{1},           T{-1}};
  } else {
    return {
        L::min(), L::max(), T{0}, T{1}, static_cast<T>(L::max() - 1), static_cast<T>(L::min() + 1)};
  }
}

}  // namespace
}  // namespace tessera::inline v1::sort
