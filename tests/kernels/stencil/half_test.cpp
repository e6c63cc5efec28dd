// Fields in 16 bits: what rounding them once a step costs, and who computes them.

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

/// The oracle's steps, which the device's have the bits of, from the exact ones. Weights whose magnitudes add
/// up to at most 1 do not make an error larger; every step adds half a unit of 2^-10 of the largest value,
/// and little for its sums in f32.
TEST(HalfSteps, StayNearTheExactOnes) {
  constexpr Boundary kinds[] = {Boundary::clamp, Boundary::mirror, Boundary::reflect, Boundary::periodic,
                                Boundary::constant};
  for (const char* name : {"heat", "advection", "box3x3", "box5x5", "box7x7", "box9x9", "star4"}) {
    for (const Boundary kind : kinds) {
      const Stencil stencil = named_stencil(name, 2);
      const Index3 extent{{1, 23, 31}};
      constexpr index_t steps = 12;
      Grid<Half> rounded(Case<Half>{stencil, all_sides({kind, 0.75}), extent, steps});
      Grid<double> exact(Case<double>{stencil, all_sides({kind, 0.75}), extent, steps});
      const auto farthest = [&] {
        double far = 0;
        exact.each(
            [&](Index3 p) { far = std::max(far, std::abs(exact(p) - static_cast<double>(rounded(p)))); });
        return far;
      };
      rounded.each([&](Index3 p) { exact.set(p, static_cast<double>(rounded(p))); });
      for (index_t s = 1; s <= steps; ++s) {
        rounded.step();
        exact.step();
        EXPECT_LE(farthest(), static_cast<double>(s) * 1.01 * 0x1p-11) << name << " step " << s;
      }
      EXPECT_GT(farthest(), 0);
    }
  }
}

TEST(HalfVariants, AreThoseOfTheDeviceStepByStep) {
  Sweep<Half> sweep;
  EXPECT_THROW(run(*find_variant(variants(), "naive"), sweep), Error);
  for (const char* name : {"cuda_naive", "cuda_tiled", "cuda_column", "cuda_zigzag", "cuda_streaming"}) {
    const Variant* const row = find_variant(variants(), name);
    if (row == nullptr) GTEST_SKIP() << "built without CUDA";
    EXPECT_NE(row->f16, nullptr) << name;
    EXPECT_NE(row->on_device.f16.run, nullptr) << name;
  }
}

}  // namespace
}  // namespace tessera::stencil
