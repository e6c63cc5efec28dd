// Index arithmetic shared by device kernels and the host: ghosts, memory, tiles of passes.

#include <gtest/gtest.h>

#include <vector>

#include "kernels/stencil/cuda_passes.hpp"
#include "oracle.hpp"

namespace tessera::stencil {
namespace {

constexpr Boundary repeating[] = {Boundary::clamp, Boundary::mirror, Boundary::reflect,
                                  Boundary::periodic};

Sweep<float> shaped(const Stencil& stencil, const Sides& sides, Index3 global, Index3 origin,
                    Index3 extent, index_t steps) {
  Sweep<float> sweep{stencil, sides, global, origin, {}, steps, 1};
  sweep.level[0].extent = sweep.level[1].extent = extent;
  sweep.level[0].dims = stencil.dims;
  return sweep;
}

TEST(DeviceLine, AGhostRepeatsThePointThatTheBoundarySays) {
  for (const Boundary kind : repeating) {
    for (const index_t n : {1, 2, 3, 4, 5, 17}) {
      const auto device = device_sweep(
          shaped(named_stencil("star4", 1), all_sides({kind}), {{1, 1, n}}, {}, {{1, 1, n}}, 3));
      const Line& line = device.line[2];
      for (index_t ghost = -4; ghost < n + 4; ++ghost) {
        if (line.inside(ghost)) continue;
        EXPECT_EQ(line.source(ghost), oracle::outside_source(kind, ghost, n))
            << name(kind) << n << " " << ghost;
      }
    }
  }
}

TEST(DeviceLine, EveryGhostIsPublishedByExactlyItsPoint) {
  for (const Boundary kind : repeating) {
    for (const index_t n : {1, 2, 3, 7, 20}) {
      const auto device = device_sweep(
          shaped(named_stencil("star3", 1), all_sides({kind}), {{1, 1, n}}, {}, {{1, 1, n}}, 1));
      const Line& line = device.line[2];
      std::vector<int> written(static_cast<std::size_t>(n + 6));
      for (index_t p = 0; p < n; ++p) {
        const index_t candidates = line.plain(p) ? 1 : 1 + line.before + line.after;
        for (index_t k = 1; k < candidates; ++k) {
          if (!line.repeats(k, p)) continue;
          EXPECT_EQ(line.source(line.candidate(k, p)), p);
          ++written[static_cast<std::size_t>(line.candidate(k, p) + 3)];
        }
      }
      for (index_t i = -3; i < n + 3; ++i)
        EXPECT_EQ(written[static_cast<std::size_t>(i + 3)], line.inside(i) ? 0 : 1)
            << name(kind) << n << i;
    }
  }
}

TEST(DeviceLine, FixedAndExchangedSidesPublishNothing) {
  const Sides sides = all_sides({Boundary::constant, 2});
  const auto fixed =
      device_sweep(shaped(named_stencil("star2", 1), sides, {{1, 1, 9}}, {}, {{1, 1, 9}}, 2));
  EXPECT_EQ(fixed.line[2].plain_begin, 0);
  EXPECT_EQ(fixed.line[2].plain_end, 9);
  const auto part = device_sweep(shaped(named_stencil("star2", 1), all_sides({}), {{1, 1, 90}},
                                        {{0, 0, 30}}, {{1, 1, 30}}, 2));
  EXPECT_EQ(part.line[2].begin, -4);
  EXPECT_EQ(part.line[2].end, 34);
  EXPECT_EQ(part.line[2].before + part.line[2].after, 0);
  EXPECT_EQ(part.line[2].plain_begin, -4);
  EXPECT_EQ(part.line[2].plain_end, 34);
  EXPECT_EQ(part.valid(1).low[2], -2);
  EXPECT_EQ(part.valid(2).high[2], 30);
}

TEST(DeviceGhosts, AtCornersTheRuleOfTheSlowestDimensionComesFirst) {
  Sides sides = all_sides({Boundary::mirror});
  sides[1][0] = {Boundary::constant, 5};
  sides[2][1] = {Boundary::given};
  const auto s =
      device_sweep(shaped(named_stencil("star1", 3), sides, {{4, 5, 6}}, {}, {{4, 5, 6}}, 1));
  const auto constant = ghost_of<float>(s.line, {{-1, -1, 6}});
  EXPECT_EQ(constant.from, From::constant);
  EXPECT_EQ(constant.value, 5);
  const auto given = ghost_of<float>(s.line, {{4, 5, 6}});
  EXPECT_EQ(given.from, From::given);
  EXPECT_EQ(given.at, (Index3{{2, 3, 6}}));
  const auto point = ghost_of<float>(s.line, {{-1, 5, -1}});
  EXPECT_EQ(point.from, From::point);
  EXPECT_EQ(point.at, (Index3{{1, 3, 1}}));
}

TEST(DeviceShape, HoldsEveryGhostAndAlignsTheFirstPoint) {
  for (const index_t bytes : {4, 8}) {
    for (const Index3 n : {Index3{{1, 1, 1}}, {{1, 5, 31}}, {{3, 4, 100}}}) {
      const int dims = n[0] > 1 ? 3 : n[1] > 1 ? 2 : 1;
      const auto s = device_sweep(shaped(named_stencil("star4", dims), all_sides({}), n, {}, n, 1));
      const DeviceShape shape = device_shape(s.line, bytes);
      const Box3 all = s.all();
      EXPECT_EQ(shape.origin * bytes % 128, 0);
      EXPECT_EQ(shape.stride[1] * bytes % 128, 0);
      const auto place = [&](Index3 p) {
        return shape.origin + p[0] * shape.stride[0] + p[1] * shape.stride[1] + p[2];
      };
      EXPECT_GE(place(all.low) * bytes, 64);
      EXPECT_LT(place({{all.high[0] - 1, all.high[1] - 1, all.high[2] - 1}}), shape.count);
      EXPECT_GE(shape.stride[1], all.high[2] - all.low[2]);
    }
  }
}

TEST(DeviceStar, WeightsLieWhereTheFullStarHasThem) {
  const auto laplace =
      device_sweep(shaped(named_stencil("laplace", 3), {}, {{4, 4, 4}}, {}, {{4, 4, 4}}, 1));
  EXPECT_EQ(laplace.star, 1);
  EXPECT_TRUE(laplace.hollow);
  for (int k = 0; k < 7; ++k)
    EXPECT_EQ(laplace.weight[k], k == 3 ? 0.0F : static_cast<float>(0.5 / 3));
  const auto heat =
      device_sweep(shaped(named_stencil("heat", 2), {}, {{1, 4, 4}}, {}, {{1, 4, 4}}, 1));
  EXPECT_EQ(heat.star, 1);
  EXPECT_FALSE(heat.hollow);
  EXPECT_EQ(heat.weight[2], 0.5F);
  for (const char* other : {"advection", "life"}) {
    EXPECT_EQ(
        device_sweep(shaped(named_stencil(other, 2), {}, {{1, 4, 4}}, {}, {{1, 4, 4}}, 1)).star, 0);
  }
}

/// Expects that a pass over tiles computes each output point once, from valid points.
void expect_tiles_right(const Axis& axis, index_t span, index_t halo, index_t steps,
                        index_t alignment) {
  const Tiles tiles = tiles_of(axis, span, halo, alignment);
  index_t next = axis.out_begin;
  for (index_t i = 0; i < tiles.count; ++i) {
    EXPECT_EQ(tiles.start(i) % alignment, 0);
    EXPECT_EQ(tiles.low(i), next);
    next = tiles.high(i);
    const bool whole_low = axis.edge[0] && tiles.start(i) == axis.begin,
               whole_high = axis.edge[1] && tiles.start(i) + span >= axis.end;
    EXPECT_TRUE(whole_low || tiles.low(i) - steps >= tiles.start(i));
    EXPECT_TRUE(whole_high || tiles.high(i) + steps <= tiles.start(i) + span);
    EXPECT_GT(tiles.high(i), tiles.low(i));
    EXPECT_GE(tiles.start(i), axis.begin - (axis.wrapped ? halo : 2 * alignment));
  }
  EXPECT_EQ(next, axis.out_end);
}

TEST(DeviceTiles, ComputeEveryPointOnceFromPointsThatAreRight) {
  for (const index_t n : {1, 2, 5, 40, 47, 48, 49, 90, 120, 128, 129, 488, 512, 1000}) {
    for (const index_t steps : {2, 3, 4, 8, 12}) {
      for (const index_t alignment : {1, 2, 4}) {
        const index_t halo = round_up(steps, alignment);
        Axis outer{0, n, 0, n, false, {true, true}, {}};
        expect_tiles_right(outer, 48, halo, steps, alignment);
        expect_tiles_right(outer, 128, halo, steps, alignment);
        Axis wrapped{0, n, 0, n, true, {false, false}, {Boundary::periodic, Boundary::periodic}};
        expect_tiles_right(wrapped, 128, halo, steps, alignment);
        for (const index_t deep : {steps, 2 * steps + 1}) {
          Axis low{0, n + deep, 0, n + deep - steps, false, {true, false}, {}};
          Axis high{-deep, n, steps - deep, n, false, {false, true}, {}};
          Axis inner{-deep, n + deep, steps - deep, n + deep - steps, false, {false, false}, {}};
          for (const Axis& axis : {low, high, inner})
            expect_tiles_right(axis, 48, halo, steps, alignment);
        }
      }
    }
  }
}

TEST(DeviceTiles, IndicesBeyondAnEndAreReadWhereTheyAre) {
  const Axis wrapped{0, 5, 0, 5, true, {false, false}, {}};
  for (index_t i = -12; i < 20; ++i) EXPECT_EQ(wrapped.readable(i), ((i % 5) + 5) % 5);
  const Axis plain{-3, 5, 0, 5, false, {false, true}, {}};
  EXPECT_EQ(plain.readable(-7), -3);
  EXPECT_EQ(plain.readable(9), 4);
  EXPECT_EQ(plain.readable(0), 0);
}

TEST(DevicePasses, AddUpLeaveNoSingleStepOverAndGrow) {
  constexpr int lengths[] = {2, 3, 4, 6, 8, 12};
  for (index_t steps = 1; steps < 60; ++steps) {
    index_t left = steps, before = 0;
    for (const index_t pass : pass_lengths(steps, 8, lengths)) {
      EXPECT_LE(pass, 8);
      EXPECT_TRUE(pass > 1 || steps == 1) << steps;
      EXPECT_GE(pass, before) << steps;
      left -= pass;
      before = pass;
    }
    EXPECT_EQ(left, 0);
  }
  EXPECT_EQ(pass_lengths(5, 1, lengths), std::vector<index_t>(5, 1));
  EXPECT_TRUE(pass_lengths(0, 8, lengths).empty());
}

}  // namespace
}  // namespace tessera::stencil
