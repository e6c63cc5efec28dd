// Fields in 16 bits: the error of rounding once per step, and their variants.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "kernels/stencil/variants.hpp"
#include "oracle.hpp"

namespace tessera::stencil {
namespace {

using oracle::Case;
using oracle::Grid;

template <class T>
class HalfSteps : public testing::Test {};
template <class T>
class HalfVariants : public testing::Test {};
using Types = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(HalfSteps, Types);
TYPED_TEST_SUITE(HalfVariants, Types);

/// Compares the oracle's steps, which equal the device's bit for bit, with exact ones. Weights with
/// a sum of magnitudes of at most 1 do not amplify an error; every step adds half a unit in the
/// last place of the largest value, and little for its sums in f32.
TYPED_TEST(HalfSteps, StayNearTheExactOnes) {
  using T = TypeParam;
  constexpr double half_unit = std::is_same_v<T, Half> ? 0x1p-11 : 0x1p-8;
  constexpr Boundary kinds[] = {Boundary::clamp, Boundary::mirror, Boundary::reflect,
                                Boundary::periodic, Boundary::constant};
  for (const char* name : {"heat", "advection", "box3x3", "box5x5", "box7x7", "box9x9", "star4"}) {
    for (const Boundary kind : kinds) {
      const Stencil stencil = named_stencil(name, 2);
      const Index3 extent{{1, 23, 31}};
      constexpr index_t steps = 12;
      Grid<T> rounded(Case<T>{stencil, all_sides({kind, 0.75}), extent, steps});
      Grid<double> exact(Case<double>{stencil, all_sides({kind, 0.75}), extent, steps});
      const auto farthest = [&] {
        double far = 0;
        exact.each([&](Index3 p) {
          far = std::max(far, std::abs(exact(p) - static_cast<double>(rounded(p))));
        });
        return far;
      };
      rounded.each([&](Index3 p) { exact.set(p, static_cast<double>(rounded(p))); });
      for (index_t s = 1; s <= steps; ++s) {
        rounded.step();
        exact.step();
        EXPECT_LE(farthest(), static_cast<double>(s) * 1.01 * half_unit) << name << " step " << s;
      }
      EXPECT_GT(farthest(), 0);
    }
  }
}

TEST(HalfTable, HasAllVariants) {
  for (const Variant& row : variants()) {
    EXPECT_NE(row.f16, nullptr) << row.name;
    EXPECT_EQ(row.bf16 != nullptr, row.space == Space::host) << row.name;
    EXPECT_EQ(row.on_device.f16.run != nullptr, row.space == Space::device) << row.name;
  }
  const Variant* const device = best_device();
  if (device == nullptr) GTEST_SKIP() << "built without CUDA";
  EXPECT_NE(device->on_device.f16.run, nullptr);
}

/// Compares rounding by processors with the constructor: every half and its surroundings, by a
/// stencil that copies, on every instruction set.
TYPED_TEST(HalfVariants, RoundAlikeOnEverySet) {
  using T = TypeParam;
  const Stencil copy = make_stencil("copy", 1, {{1, 1, 1}}, std::vector<double>{1});
  const Stencil scaled = make_stencil("scaled", 1, {{1, 1, 1}}, std::vector<double>{1.0 / 3});
  for (const Stencil& stencil : {copy, scaled}) {
    Field<T> field = whole_field<T>(stencil, {{1, 1, 65536}});
    const Sweep<T> sweep = whole_sweep(stencil, {}, field, 1, 1);
    for (index_t i = 0; i < 65536; ++i) sweep.level[0](0, i).bits = static_cast<std::uint16_t>(i);
    for (int isa = 0; isa <= static_cast<int>(machine::isa()); ++isa) {
      for (const char* name : {"naive", "streaming"}) {
        run(*find_variant(variants(), name), sweep, {.isa = static_cast<machine::Isa>(isa)});
        index_t wrong = 0;
        for (index_t i = 0; i < 65536; ++i) {
          const auto u = static_cast<float>(sweep.level[0](0, i));
          if (std::isnan(u)) {
            wrong += std::isnan(static_cast<float>(sweep.level[1](0, i))) ? 0 : 1;
          } else {
            const float product = static_cast<float>(stencil.taps[0].weight) * u;
            wrong += sweep.level[1](0, i).bits != T(product).bits ? 1 : 0;
          }
        }
        EXPECT_EQ(wrong, 0) << name << " " << machine::name(static_cast<machine::Isa>(isa));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::stencil
