// Device-resident fields. (sweep_test runs the variants with all others against the oracle.)

#include <span>

#include "device_cases.hpp"

namespace tessera::stencil {
namespace {

TYPED_TEST_SUITE(Device, Types);

TYPED_TEST(Device, SmallFieldsOfEveryStencilHaveTheHostsBits) {
  int turn = 0;
  for (const StencilInfo& info : stencil_infos()) {
    for (int dims = info.min_dims; dims <= info.max_dims; ++dims) {
      const Index3 shape = dims == 1   ? Index3{{1, 1, 331}}
                           : dims == 2 ? Index3{{1, 37, 211}}
                                       : Index3{{9, 17, 37}};
      expect_host_bits<TypeParam>(
          {named_stencil(info.name, dims), sides_of(kinds[turn % 6]), shape, 5});
      ++turn;
    }
  }
}

TYPED_TEST(Device, AFewFieldsUnderACheckHaveTheHostsBits) {
  const std::pair<const char*, Index3> cases[] = {
      {"heat", {{1, 37, 211}}}, {"heat", {{9, 17, 37}}},    {"star3", {{9, 17, 37}}},
      {"wave", {{1, 37, 211}}}, {"box5x5", {{1, 37, 211}}}, {"life", {{1, 37, 211}}}};
  int turn = 0;
  for (const auto& [name, shape] : cases)
    expect_host_bits<TypeParam>(
        {named_stencil(name, shape[0] > 1 ? 3 : 2), sides_of(kinds[turn++ % 6]), shape, 5});
  for (const Boundary kind : {Boundary::mirror, Boundary::constant})
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides_of(kind), {{11, 55, 140}}, 4},
                                solid_passes);
  for (const index_t x : {132, 133})  // the row's other end follows in whole vectors, or in parts
                                      // of one
    expect_host_bits<TypeParam>(
        {named_stencil("heat", 3), sides_of(Boundary::periodic), {{9, 50, x}}, 4}, solid_passes);
}

TYPED_TEST(Device, EveryBoundaryHasTheHostsBits) {
  for (const char* name : {"heat", "laplace", "advection", "wave", "star3"}) {
    for (const Boundary kind : kinds) {
      expect_host_bits<TypeParam>({named_stencil(name, 2), sides_of(kind), {{1, 53, 300}}, 9});
      expect_host_bits<TypeParam>({named_stencil(name, 3), sides_of(kind), {{19, 55, 140}}, 6},
                                  solid_passes);
    }
  }
  for (const char* name : {"box3x3", "box5x5", "box7x7", "box9x9", "life"}) {
    for (const Boundary kind : kinds)
      expect_host_bits<TypeParam>({named_stencil(name, 2), sides_of(kind), {{1, 47, 501}}, 3});
  }
}

TYPED_TEST(Device, EachSideMayHaveItsOwnBoundary) {
  std::vector<double> weights(27);
  for (std::size_t i = 0; i < 27; ++i)
    weights[i] = random_symmetric<double>(3, 0, static_cast<index_t>(i)) / 9;
  for (const Sides& sides : mixed_sides()) {
    expect_host_bits<TypeParam>({named_stencil("heat", 2), sides, {{1, 61, 333}}, 11},
                                {{}, {.base_steps = 4}});
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides, {{23, 61, 150}}, 7},
                                solid_passes);
    expect_host_bits<TypeParam>({named_stencil("star2", 3), sides, {{12, 17, 70}}, 4});
    expect_host_bits<TypeParam>(
        {make_stencil("dense", 3, {{3, 3, 3}}, weights), sides, {{11, 13, 70}}, 4});
    expect_host_bits<TypeParam>({named_stencil("box7x7", 2), sides, {{1, 25, 70}}, 3});
    expect_host_bits<TypeParam>({named_stencil("star3", 2), sides, {{1, 25, 133}}, 3});
    expect_host_bits<TypeParam>(
        {make_stencil("square", 2, {{1, 5, 5}}, std::span(weights).first(25)),
         sides,
         {{1, 25, 70}},
         3});
  }
}

TYPED_TEST(Device, EveryShapeHasTheHostsBits) {
  for (const Boundary kind : kinds) {
    for (const index_t y : {1, 2, 3, 8, 13, 31}) {
      for (const index_t x : {1, 2, 3, 4, 5, 31, 112, 127, 128, 129, 233})
        expect_host_bits<TypeParam>({named_stencil("heat", 2), sides_of(kind), {{1, y, x}}, 9});
    }
    for (const Index3 n : {Index3{{1, 1, 1}},
                           {{2, 2, 2}},
                           {{2, 3, 5}},
                           {{5, 42, 120}},
                           {{7, 48, 128}},
                           {{8, 49, 129}},
                           {{3, 43, 121}},
                           {{40, 2, 3}}}) {
      expect_host_bits<TypeParam>({named_stencil("heat", 3), sides_of(kind), n, 7}, solid_passes);
      expect_host_bits<TypeParam>({named_stencil("star4", 3), sides_of(kind), n, 2});
    }
    for (const index_t n : {1, 2, 3, 7, 8, 9, 120, 121, 480, 481}) {
      expect_host_bits<TypeParam>(
          {named_stencil("box9x9", 2), sides_of(kind), {{1, n % 37 + 1, n}}, 2});
      expect_host_bits<TypeParam>({named_stencil("heat", 1), sides_of(kind), {{1, 1, n}}, 3});
    }
  }
}

TYPED_TEST(Device, SolidsOfAnyShapeHaveTheHostsBits) {
  const std::vector<Sides> mixed = mixed_sides();
  for (index_t turn = 0; turn < 24; ++turn) {
    const auto random = [&](std::uint64_t stream, std::uint64_t low, std::uint64_t high) {
      return static_cast<index_t>(low + random_bits(11, stream, turn) % (high - low + 1));
    };
    const auto which = static_cast<std::size_t>(turn);
    const Sides sides =
        turn % 2 == 0 ? sides_of(kinds[which / 2 % 6]) : mixed[which / 2 % mixed.size()];
    const Index3 shape{
        {random(0, 2, 40), random(1, 2, 230), random(2, 9, turn % 3 == 0 ? 560 : 300)}};
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides, shape, random(3, 2, 11)},
                                solid_passes);
  }
}

TYPED_TEST(Device, EveryTuningHasTheHostsBits) {
  std::vector<Tuning> tunings;
  for (const index_t steps : {1, 2, 3, 4, 6, 8, 12}) tunings.push_back({.base_steps = steps});
  for (const index_t march : {1, 2, 5, 17, 64})
    tunings.push_back({.base_steps = 2, .march = march});
  for (const index_t block : {32, 33, 64, 128, 512, 1024, 5000})
    tunings.push_back({.tile_y = block / 32, .tile_x = 64, .column = block / 8, .block = block});
  for (const Boundary kind : {Boundary::mirror, Boundary::periodic, Boundary::given}) {
    for (const index_t steps : {1, 2, 25})
      expect_host_bits<TypeParam>({named_stencil("heat", 2), sides_of(kind), {{1, 91, 517}}, steps},
                                  tunings);
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides_of(kind), {{33, 50, 131}}, 8},
                                tunings);
    expect_host_bits<TypeParam>({named_stencil("box5x5", 2), sides_of(kind), {{1, 91, 517}}, 2},
                                tunings);
  }
}

TYPED_TEST(Device, WeightsAsDataInAnyBoxHaveTheHostsBits) {
  for (const Index3 box :
       {Index3{{1, 3, 3}}, {{1, 5, 5}}, {{1, 1, 7}}, {{1, 9, 1}}, {{1, 2, 4}}, {{1, 41, 41}}}) {
    std::vector<double> weights(static_cast<std::size_t>(box.volume()));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = random_symmetric<double>(7, 0, static_cast<index_t>(i)) /
                   static_cast<double>(box.volume());
    for (const Boundary kind : kinds) {
      expect_host_bits<TypeParam>(
          {make_stencil("w", 2, box, weights), sides_of(kind), {{1, 30, 71}}, 2});
      expect_host_bits<TypeParam>(
          {make_stencil("w", 2, box, weights, -0.5), sides_of(kind), {{1, 9, 50}}, 3});
    }
  }
}

TYPED_TEST(Device, StarsWithoutTheirMiddleHaveTheHostsBits) {
  for (const int dims : {2, 3}) {
    for (const index_t radius : {1, 2, 3, 4}) {
      const index_t width = 2 * radius + 1, deep = dims == 3 ? width : 1;
      std::vector<double> weights(static_cast<std::size_t>(deep * width * width));
      const auto set = [&](index_t z, index_t y, index_t x) {
        weights[static_cast<std::size_t>((z * width + y) * width + x)] =
            0.01 * static_cast<double>(1 + z + 2 * y + 3 * x);
      };
      const index_t middle = deep / 2;
      for (index_t i = 0; i < width; ++i) {
        if (i == radius) continue;
        set(middle, radius, i);
        set(middle, i, radius);
        if (dims == 3) set(i, radius, radius);
      }
      const Index3 extent = dims == 3 ? Index3{{13, 21, 70}} : Index3{{1, 30, 71}};
      expect_host_bits<TypeParam>({make_stencil("hollow", dims, {{deep, width, width}}, weights),
                                   sides_of(Boundary::mirror), extent, 6},
                                  solid_passes);
    }
  }
}

/// A field that fills the device.
TYPED_TEST(Device, LargeFieldsHaveTheHostsBits) {
  expect_host_bits<TypeParam>(
      {named_stencil("heat", 2), sides_of(Boundary::mirror), {{1, 1201, 2111}}, 9});
  expect_host_bits<TypeParam>(
      {named_stencil("heat", 3), sides_of(Boundary::reflect), {{131, 149, 257}}, 8}, solid_passes);
}

}  // namespace
}  // namespace tessera::stencil
