// The device's variants against the host's naive one, bit for bit: skipped, visibly, where there is no
// device. (sweep_test runs them with all other variants against the oracle.) Fields in 16 bits, for which the
// host has no variant, against the oracle, whose every step is rounded to them.

#include <gtest/gtest.h>

#include <limits>
#include <span>

#include "kernels/stencil/slabs.hpp"
#include "oracle.hpp"
#include "usable.hpp"

namespace tessera::stencil {
namespace {

using oracle::Case;
using oracle::Grid;

constexpr double sentinel = 12345.5;

std::string describe(const Variant& v, const Stencil& s, const Sides& sides, Index3 n, index_t steps) {
  std::string text = std::string(v.name) + " " + s.name + " " + std::to_string(s.dims) + "-D " +
                     std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]) +
                     " steps " + std::to_string(steps);
  for (const auto& d : sides) {
    for (const Side& side : d) text += " " + std::string(name(side.kind));
  }
  return text;
}

template <class T>
std::vector<Variant> device_variants() {
  std::vector<Variant> rows;
  for (const Variant& row : usable_variants()) {
    if (row.space == Space::device && (row.f16 != nullptr || !std::is_same_v<T, Half>)) rows.push_back(row);
  }
  return rows;
}

template <class T>
class Device : public testing::Test {
 protected:
  void SetUp() override {
    if (device_variants<T>().empty()) GTEST_SKIP() << "no device: " << machine::gpus().reason;
  }
};
using Types = testing::Types<float, double, Half>;
TYPED_TEST_SUITE(Device, Types);

/// Level 0 (with two time levels also 1) random, their ghosts NaN but for what is given; all else, that is
/// the padding of rows and level 1, holds the sentinel.
template <class T>
struct Problem {
  Field<T> field;
  Sweep<T> sweep;
  Ghosts ghosts;

  explicit Problem(const Case<T>& c)
      : field(whole_field<T>(c.stencil, c.extent)),
        sweep(whole_sweep(c.stencil, c.sides, field, c.steps, 2)),
        ghosts(ghosts_for(c.stencil, 1, {})) {
    each_row([](T* row, index_t count) { std::fill_n(row, count, static_cast<T>(sentinel)); }, sweep);
    oracle::load(Grid<T>(c), sweep, ghosts, c);
  }
  /// What another problem of this shape holds.
  void load(const Problem& from) {
    each_row([](T* row, const T* other, index_t count) { std::copy_n(other, count, row); }, sweep,
             from.sweep);
  }

 private:
  /// f(first of a row in every sweep, count), ghosts and padding too, in both levels.
  template <class F, class... Sweeps>
  void each_row(const F& f, const Sweeps&... sweeps) {
    const Index3 n = sweep.extent();
    for (std::size_t l = 0; l < 2; ++l) {
      for (index_t z = -ghosts[0][0]; z < n[0] + ghosts[0][1]; ++z) {
        for (index_t y = -ghosts[1][0]; y < n[1] + ghosts[1][1]; ++y)
          f(&sweeps.level[l](z, y, -ghosts[2][0])..., sweep.level[l].stride[1]);
      }
    }
  }
};

/// Points whose bits differ, in the result and between its rows.
template <class T>
index_t differences(const Problem<T>& want, const Problem<T>& got) {
  const Index3 n = want.sweep.extent();
  const int levels = want.sweep.stencil.two_levels() ? 2 : 1;
  index_t wrong = 0;
  for (int back = 0; back < levels; ++back) {
    const GridView<T>&a = want.sweep.level[(want.sweep.steps + back) % 2],
          &b = got.sweep.level[(want.sweep.steps + back) % 2];
    for (index_t z = 0; z < n[0]; ++z) {
      for (index_t y = 0; y < n[1]; ++y) {
        for (index_t x = 0; x < n[2]; ++x) wrong += oracle::bits(a(z, y, x)) != oracle::bits(b(z, y, x));
        const index_t radius = want.sweep.stencil.radius[2];
        for (index_t x = n[2] + radius; x < b.stride[1] - radius; ++x)
          wrong += oracle::bits(b(z, y, x)) != oracle::bits(static_cast<T>(sentinel));
      }
    }
  }
  return wrong;
}

template <class T>
void sweep_on_host(const Case<T>&, const Sweep<T>& sweep) {
  run(variants().front(), sweep);
}
void sweep_on_host(const Case<Half>& c, const Sweep<Half>& sweep) {
  Grid<Half> grid(c);
  for (index_t s = 0; s < c.steps; ++s) grid.step();
  grid.each([&](Index3 p) {
    sweep.level[c.steps % 2](p) = grid(p);
    if (c.stencil.two_levels()) sweep.level[(c.steps + 1) % 2](p) = grid.past(p);
  });
}

template <class T>
void expect_host_bits(const Case<T>& c, const std::vector<Tuning>& tunings = {{}}) {
  const Problem<T> start(c);
  Problem<T> want(c), got(c);
  sweep_on_host(c, want.sweep);
  for (const Variant& variant : device_variants<T>()) {
    for (const Tuning& tuning : tunings) {
      got.load(start);
      run(variant, got.sweep, tuning);
      EXPECT_EQ(differences(want, got), 0)
          << describe(variant, c.stencil, c.sides, c.extent, c.steps) << " base_steps " << tuning.base_steps
          << " march " << tuning.march << " block " << tuning.block << " column " << tuning.column
          << " memory " << tuning.device_memory;
    }
  }
}

Sides sides_of(Boundary kind) { return all_sides({kind, 0.75}); }

constexpr Boundary kinds[] = {Boundary::clamp,    Boundary::mirror,   Boundary::reflect,
                              Boundary::periodic, Boundary::constant, Boundary::given};

/// Sides that differ, in every dimension.
std::vector<Sides> mixed_sides() {
  const Side clamp{Boundary::clamp}, mirror{Boundary::mirror}, reflect{Boundary::reflect},
      wrap{Boundary::periodic}, one{Boundary::constant, 1}, two{Boundary::constant, -2},
      given{Boundary::given};
  return {{{{clamp, mirror}, {reflect, one}, {wrap, wrap}}},
          {{{wrap, wrap}, {mirror, clamp}, {two, given}}},
          {{{given, one}, {wrap, wrap}, {mirror, reflect}}},
          {{{one, two}, {given, reflect}, {clamp, one}}},
          {{{reflect, given}, {one, mirror}, {given, clamp}}},
          {{{mirror, given}, {clamp, given}, {one, mirror}}}};
}

TYPED_TEST(Device, SmallFieldsOfEveryStencilHaveTheHostsBits) {
  int turn = 0;
  for (const StencilInfo& info : stencil_infos()) {
    for (int dims = info.min_dims; dims <= info.max_dims; ++dims) {
      const Index3 shape = dims == 1   ? Index3{{1, 1, 331}}
                           : dims == 2 ? Index3{{1, 37, 211}}
                                       : Index3{{9, 17, 37}};
      expect_host_bits<TypeParam>({named_stencil(info.name, dims), sides_of(kinds[turn % 6]), shape, 5});
      ++turn;
    }
  }
}

TYPED_TEST(Device, AFewFieldsUnderACheckHaveTheHostsBits) {
  const std::pair<const char*, Index3> cases[] = {{"heat", {{1, 37, 211}}},   {"heat", {{9, 17, 37}}},
                                                  {"star3", {{9, 17, 37}}},   {"wave", {{1, 37, 211}}},
                                                  {"box5x5", {{1, 37, 211}}}, {"life", {{1, 37, 211}}}};
  int turn = 0;
  for (const auto& [name, shape] : cases)
    expect_host_bits<TypeParam>(
        {named_stencil(name, shape[0] > 1 ? 3 : 2), sides_of(kinds[turn++ % 6]), shape, 5});
}

/// Single steps, and every length of passes over solids.
const std::vector<Tuning> solid_passes{{}, {.base_steps = 2}, {.base_steps = 3}, {.base_steps = 4}};

TYPED_TEST(Device, EveryBoundaryHasTheHostsBits) {
  for (const char* name : {"heat", "laplace", "advection", "wave", "star3"}) {
    for (const Boundary kind : kinds) {
      expect_host_bits<TypeParam>({named_stencil(name, 2), sides_of(kind), {{1, 53, 300}}, 9});
      expect_host_bits<TypeParam>({named_stencil(name, 3), sides_of(kind), {{19, 55, 140}}, 6}, solid_passes);
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
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides, {{23, 61, 150}}, 7}, solid_passes);
    expect_host_bits<TypeParam>({named_stencil("star2", 3), sides, {{12, 17, 70}}, 4});
    expect_host_bits<TypeParam>({make_stencil("dense", 3, {{3, 3, 3}}, weights), sides, {{11, 13, 70}}, 4});
    expect_host_bits<TypeParam>({named_stencil("box7x7", 2), sides, {{1, 25, 70}}, 3});
    expect_host_bits<TypeParam>({named_stencil("star3", 2), sides, {{1, 25, 133}}, 3});
    expect_host_bits<TypeParam>(
        {make_stencil("square", 2, {{1, 5, 5}}, std::span(weights).first(25)), sides, {{1, 25, 70}}, 3});
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
      expect_host_bits<TypeParam>({named_stencil("box9x9", 2), sides_of(kind), {{1, n % 37 + 1, n}}, 2});
      expect_host_bits<TypeParam>({named_stencil("heat", 1), sides_of(kind), {{1, 1, n}}, 3});
    }
  }
}

TYPED_TEST(Device, EveryTuningHasTheHostsBits) {
  std::vector<Tuning> tunings;
  for (const index_t steps : {1, 2, 3, 4, 6, 8, 12}) tunings.push_back({.base_steps = steps});
  for (const index_t march : {1, 2, 5, 17, 64}) tunings.push_back({.base_steps = 2, .march = march});
  for (const index_t block : {32, 33, 64, 128, 512, 1024, 5000})
    tunings.push_back({.tile_y = block / 32, .tile_x = 64, .column = block / 8, .block = block});
  for (const Boundary kind : {Boundary::mirror, Boundary::periodic, Boundary::given}) {
    for (const index_t steps : {1, 2, 25})
      expect_host_bits<TypeParam>({named_stencil("heat", 2), sides_of(kind), {{1, 91, 517}}, steps}, tunings);
    expect_host_bits<TypeParam>({named_stencil("heat", 3), sides_of(kind), {{33, 50, 131}}, 8}, tunings);
    expect_host_bits<TypeParam>({named_stencil("box5x5", 2), sides_of(kind), {{1, 91, 517}}, 2}, tunings);
  }
}

TYPED_TEST(Device, WeightsAsDataInAnyBoxHaveTheHostsBits) {
  for (const Index3 box :
       {Index3{{1, 3, 3}}, {{1, 5, 5}}, {{1, 1, 7}}, {{1, 9, 1}}, {{1, 2, 4}}, {{1, 41, 41}}}) {
    std::vector<double> weights(static_cast<std::size_t>(box.volume()));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] =
          random_symmetric<double>(7, 0, static_cast<index_t>(i)) / static_cast<double>(box.volume());
    for (const Boundary kind : kinds) {
      expect_host_bits<TypeParam>({make_stencil("w", 2, box, weights), sides_of(kind), {{1, 30, 71}}, 2});
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
  expect_host_bits<TypeParam>({named_stencil("heat", 2), sides_of(Boundary::mirror), {{1, 1201, 2111}}, 9});
  expect_host_bits<TypeParam>({named_stencil("heat", 3), sides_of(Boundary::reflect), {{131, 149, 257}}, 8},
                              solid_passes);
}

/// Shares of the memory that the sweep takes at once.
template <class T>
std::vector<Tuning> shares_of_memory(const Sweep<T>& sweep) {
  std::vector<Tuning> tunings;
  const index_t whole = plan_slabs(sweep, index_t{1} << 40, 1)->device_bytes;
  for (const index_t percent : {80, 45, 25}) {
    tunings.push_back({.device_memory = whole * percent / 100});
    EXPECT_TRUE(plan_slabs(sweep, tunings.back().device_memory, 1).has_value());
  }
  return tunings;
}

TYPED_TEST(Device, LargerFieldsThanItsMemoryHaveTheHostsBits) {
  std::size_t turn = 0;  // a share a case
  const auto expect = [&](const Case<TypeParam>& c) {
    expect_host_bits<TypeParam>(c, {shares_of_memory(Problem<TypeParam>(c).sweep).at(turn++ % 3)});
  };
  for (const Boundary kind : kinds) {
    for (const index_t steps : {1, 2, 13}) {
      expect({named_stencil("heat", 2), sides_of(kind), {{1, 401, 333}}, steps});
      expect({named_stencil("wave", 2), sides_of(kind), {{1, 402, 150}}, steps});
      expect({named_stencil("heat", 3), sides_of(kind), {{150, 23, 70}}, steps});
    }
    expect({named_stencil("wave", 3), sides_of(kind), {{150, 12, 33}}, 4});
    expect({named_stencil("box7x7", 2), sides_of(kind), {{1, 500, 200}}, 7});
    expect({named_stencil("star2", 3), sides_of(kind), {{190, 20, 40}}, 6});
    expect({named_stencil("advection", 1), sides_of(kind), {{1, 1, 100000}}, 9});
    expect({named_stencil("heat", 3), sides_of(kind), {{3, 600, 50}}, 5});
  }
  for (const Sides& sides : mixed_sides()) {
    expect({named_stencil("heat", 2), sides, {{1, 401, 333}}, 11});
    expect({named_stencil("heat", 3), sides, {{140, 33, 40}}, 7});
    expect({named_stencil("wave", 3), sides, {{140, 13, 40}}, 3});
  }
}

/// Slabs of more than a chunk, rows of it in both ways at once.
TYPED_TEST(Device, SlabsOfManyChunksHaveTheHostsBits) {
  const Case<TypeParam> c{named_stencil("heat", 2), sides_of(Boundary::periodic), {{1, 6007, 3001}}, 12};
  expect_host_bits<TypeParam>(c, {{.device_memory = index_t{60} << 20}});
  expect_host_bits<TypeParam>({named_stencil("wave", 3), sides_of(Boundary::mirror), {{300, 200, 211}}, 5},
                              {{.device_memory = index_t{60} << 20}});
}

/// Boxes of a process grid, `deep` steps between two exchanges, as copies from the oracle; at once or in
/// slabs.
enum class Through { at_once, slabs };
template <class T>
void expect_boxes_right(const Case<T>& c, Index3 grid, index_t deep, Through through = Through::at_once,
                        const Tuning& asked = {}) {
  const Grid<T> before(c);
  Grid<T> want = before;
  for (index_t s = 0; s < deep; ++s) want.step();
  for (index_t rank = 0; rank < grid.volume(); ++rank) {
    const Index3 at{{rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]}};
    Index3 origin, extent;
    for (int d = 0; d < 3; ++d) {
      origin[d] = c.extent[d] * at[d] / grid[d];
      extent[d] = c.extent[d] * (at[d] + 1) / grid[d] - origin[d];
    }
    Sweep<T> sweep{c.stencil, c.sides, c.extent, origin, {{nullptr, extent}, {nullptr, extent}}, deep, 2};
    std::array<std::array<Edge, 2>, 3> edges{};
    for (int d = 0; d < 3; ++d) {
      for (int side = 0; side < 2; ++side)
        edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
    }
    const Ghosts ghosts = ghosts_for(c.stencil, deep, edges);
    Field<T> field(c.stencil.dims, extent, ghosts);
    sweep.level[0] = field.level(0);
    sweep.level[1] = field.level(1);
    sweep.level[0].dims = sweep.level[1].dims = c.stencil.dims;
    const Tuning tuning = through == Through::slabs ? shares_of_memory(sweep).back() : asked;
    for (const Variant& variant : device_variants<T>()) {
      oracle::load(before, sweep, ghosts, c);
      run(variant, sweep, tuning);
      index_t wrong = 0;
      const GridView<T>& got = sweep.level[deep % 2];
      for (index_t z = 0; z < extent[0]; ++z) {
        for (index_t y = 0; y < extent[1]; ++y) {
          for (index_t x = 0; x < extent[2]; ++x) {
            const Index3 p{{z + origin[0], y + origin[1], x + origin[2]}};
            wrong += oracle::bits(got(z, y, x)) != oracle::bits(want(p));
          }
        }
      }
      EXPECT_EQ(wrong, 0) << describe(variant, c.stencil, c.sides, extent, deep) << " box " << rank;
    }
  }
}

TYPED_TEST(Device, BoxesWithDeepHalosHaveTheBitsOfTheWhole) {
  std::vector<Sides> all = mixed_sides();
  for (const Boundary kind : kinds) all.push_back(sides_of(kind));
  for (const Sides& sides : all) {
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 61, 190}}, 0}, {{1, 2, 3}}, 9);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 30, 40}}, 0}, {{1, 3, 1}}, 3);
    for (const Tuning& passes : solid_passes)
      expect_boxes_right<TypeParam>({named_stencil("heat", 3), sides, {{23, 66, 70}}, 0}, {{2, 2, 2}}, 5,
                                    Through::at_once, passes);
    expect_boxes_right<TypeParam>({named_stencil("star2", 3), sides, {{13, 16, 33}}, 0}, {{2, 2, 2}}, 2);
    expect_boxes_right<TypeParam>({named_stencil("box7x7", 2), sides, {{1, 41, 90}}, 0}, {{1, 1, 4}}, 2);
  }
}

TYPED_TEST(Device, BoxesWithDeepHalosGoThroughInSlabs) {
  for (const Sides& sides : mixed_sides()) {
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 601, 190}}, 0}, {{1, 2, 3}}, 9,
                                  Through::slabs);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 1200, 40}}, 0}, {{1, 3, 1}}, 3,
                                  Through::slabs);
    expect_boxes_right<TypeParam>({named_stencil("heat", 3), sides, {{240, 26, 30}}, 0}, {{2, 2, 2}}, 5,
                                  Through::slabs);
  }
}

}  // namespace
}  // namespace tessera::stencil
