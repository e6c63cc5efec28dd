// Sweeps in slabs: the plans, and the order of transfers to and from an emulated device.

#include "kernels/stencil/slabs.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "oracle.hpp"
#include "pretended_device.hpp"

namespace tessera::stencil {
namespace {

using oracle::Case;
using oracle::Grid;

constexpr Boundary kinds[] = {Boundary::clamp,    Boundary::mirror,   Boundary::reflect,
                              Boundary::periodic, Boundary::constant, Boundary::given};

/// Box of a field in separate memory, filled as by its owner.
template <class T>
struct Part {
  Field<T> field;
  Sweep<T> sweep;
  Ghosts ghosts{};

  Part(const Case<T>& c, Index3 origin, Index3 extent) {
    sweep = {c.stencil, c.sides, c.extent, origin, {{nullptr, extent}, {nullptr, extent}},
             c.steps,   1};
    std::array<std::array<Edge, 2>, 3> edges{};
    for (int d = 0; d < 3; ++d) {
      for (int side = 0; side < 2; ++side)
        edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
    }
    ghosts = ghosts_for(c.stencil, c.steps, edges);
    field = Field<T>(c.stencil.dims, extent, ghosts);
    for (int level = 0; level < 2; ++level) {
      sweep.level[level] = field.level(level);
      sweep.level[level].dims = c.stencil.dims;
    }
  }
  explicit Part(const Case<T>& c) : Part(c, {}, c.extent) {}
};

DeviceKernel<float> kernel(int which, float) {
  return which == 0
             ? DeviceKernel<float>{standing_in::by_steps<float>, standing_in::single_steps<float>}
             : DeviceKernel<float>{standing_in::by_passes<float>, standing_in::some_passes<float>};
}
DeviceKernel<double> kernel(int which, double) {
  return which == 0 ? DeviceKernel<double>{standing_in::by_steps<double>,
                                           standing_in::single_steps<double>}
                    : DeviceKernel<double>{standing_in::by_passes<double>,
                                           standing_in::some_passes<double>};
}

constexpr Temper tempers[] = {{Temper::Pace::at_once},
                              {Temper::Pace::as_late_as_possible},
                              {Temper::Pace::as_late_as_possible, true},
                              {Temper::Pace::random, false, 1},
                              {Temper::Pace::random, true, 2},
                              {Temper::Pace::random, true, 3}};

/// Runs the plan on parts of the field and compares both levels with the whole on the host.
template <class T>
void expect_bits(const Case<T>& c, const SlabPlan& plan, Index3 origin, Index3 extent) {
  const Grid<T> before(c);
  Grid<T> want = before;
  for (index_t s = 0; s < c.steps; ++s) want.step();
  for (std::size_t t = 0; t < std::size(tempers); ++t) {
    Part<T> part(c, origin, extent);
    oracle::load(before, part.sweep, part.ghosts, c);
    PretendedDevice<T> device(c.stencil, plan, kernel(static_cast<int>(t % 2), T{}), tempers[t]);
    SlabMarch<T, PretendedDevice<T>>(part.sweep, plan, device).run();
    device.finish();
    index_t wrong = 0;
    standing_in::each_point({}, extent, [&](Index3 p) {
      const Index3 q{{p[0] + origin[0], p[1] + origin[1], p[2] + origin[2]}};
      wrong += oracle::bits(part.sweep.level[c.steps % 2](p)) != oracle::bits(want(q));
      if (c.stencil.two_levels())
        wrong += oracle::bits(part.sweep.level[(c.steps + 1) % 2](p)) != oracle::bits(want.past(q));
    });
    EXPECT_EQ(wrong, 0) << c.stencil.name << " " << c.extent[0] << "x" << c.extent[1] << "x"
                        << c.extent[2] << " from " << origin[0] << "," << origin[1] << ","
                        << origin[2] << " " << name(c.sides[2][0].kind) << " steps " << c.steps
                        << " in " << plan.slabs << " slabs along " << plan.d << ", rounds "
                        << plan.rounds.size() << " temper " << t;
  }
}

/// Returns a manual plan: `slabs` slabs along d, rounds of these steps.
template <class T>
SlabPlan plan_of(const Sweep<T>& sweep, int d, index_t slabs, std::vector<index_t> rounds) {
  SlabPlan plan;
  plan.d = d;
  plan.slabs = slabs;
  plan.rounds = std::move(rounds);
  plan.places = std::min<index_t>(3, slabs * static_cast<index_t>(plan.rounds.size()));
  for (const SlabTask& task : tasks_of(sweep, plan)) {
    const Sweep<T> slab = slab_sweep(sweep, task);
    plan.elements = std::max(plan.elements, device_shape(device_sweep(slab).line, sizeof(T)).count);
  }
  return plan;
}

template <class T>
void expect_whole(const Case<T>& c, int d, index_t slabs, const std::vector<index_t>& rounds) {
  const Part<T> part(c);
  expect_bits(c, plan_of(part.sweep, d, slabs, rounds), {}, c.extent);
}

TEST(SlabMarch, HasTheBitsOfTheHostForEveryBoundary) {
  for (const Boundary kind : kinds) {
    const Sides sides = all_sides({kind, 0.75});
    expect_whole<float>({named_stencil("heat", 2), sides, {{1, 41, 23}}, 5}, 1, 4, {3, 2});
    expect_whole<double>({named_stencil("heat", 3), sides, {{23, 7, 9}}, 6}, 0, 5, {2, 1, 3});
    expect_whole<double>({named_stencil("wave", 2), sides, {{1, 30, 12}}, 5}, 1, 3, {2, 3});
    expect_whole<float>({named_stencil("wave", 3), sides, {{12, 5, 6}}, 3}, 0, 4, {1, 1, 1});
    expect_whole<float>({named_stencil("box5x5", 2), sides, {{1, 33, 17}}, 3}, 1, 4, {2, 1});
    expect_whole<double>({named_stencil("advection", 1), sides, {{1, 1, 57}}, 4}, 2, 5, {4});
  }
}

/// Holds for any row ends, as rows begin at multiples of 128 bytes.
TEST(SlabPlan, HasRoomForItsSlabs) {
  std::uint64_t turn = 0;
  const auto any = [&](index_t low, index_t high) {
    return low + static_cast<index_t>(random_bits(11, 0, static_cast<index_t>(turn++)) %
                                      static_cast<std::uint64_t>(high - low + 1));
  };
  index_t planned = 0;
  for (int i = 0; i < 2000; ++i) {
    const int dims = static_cast<int>(any(2, 3));
    const Case<float> c{
        named_stencil(any(0, 1) == 0 ? "heat" : "wave", dims), all_sides({kinds[any(0, 5)], 1}),
        Index3{{dims == 3 ? any(30, 90) : 1, any(60, 400), any(40, 300)}}, any(1, 12)};
    Index3 origin{}, extent = c.extent;
    for (int d = 3 - dims; d < 3; ++d) {
      extent[d] = any(c.extent[d] / 3, c.extent[d]);
      origin[d] = any(0, c.extent[d] - extent[d]);
    }
    const Part<float> part(c, origin, extent);
    const index_t whole = plan_slabs(part.sweep, index_t{1} << 40, 1)->device_bytes;
    const auto plan = plan_slabs(part.sweep, whole * any(10, 90) / 100, any(1, 8),
                                 {.bus = 20e9, .memory = static_cast<double>(any(1, 5)) * 1e12});
    if (!plan.has_value()) continue;
    ++planned;
    for (const SlabTask& task : tasks_of(part.sweep, *plan)) {
      const Sweep<float> slab = slab_sweep(part.sweep, task);
      ASSERT_LE(device_shape(device_sweep(slab).line, sizeof(float)).count, plan->elements);
    }
  }
  EXPECT_GT(planned, 1000);
}

TEST(SlabMarch, CutsAnyDimension) {
  const Sides sides{{{{{Boundary::clamp, 0}, {Boundary::mirror, 0}}},
                     {{{Boundary::periodic, 0}, {Boundary::periodic, 0}}},
                     {{{Boundary::constant, 2}, {Boundary::given, 0}}}}};
  for (int d = 0; d < 3; ++d) {
    expect_whole<float>({named_stencil("heat", 3), sides, {{12, 13, 14}}, 4}, d, 3, {3, 1});
    expect_whole<double>({named_stencil("wave", 3), sides, {{12, 13, 14}}, 3}, d, 4, {1, 2});
  }
}

TEST(SlabMarch, EveryNumberOfSlabsAndRounds) {
  for (const Boundary kind : {Boundary::mirror, Boundary::periodic}) {
    const Sides sides = all_sides({kind, 0});
    for (const index_t slabs : {1, 2, 3, 4, 7, 12}) {
      for (const std::vector<index_t>& rounds :
           std::vector<std::vector<index_t>>{{1}, {1, 1}, {2}, {2, 2, 2}, {1, 2, 1, 2, 1}}) {
        index_t steps = 0;
        for (const index_t some : rounds) steps += some;
        expect_whole<float>({named_stencil("heat", 2), sides, {{1, 24, 11}}, steps}, 1, slabs,
                            rounds);
        expect_whole<double>({named_stencil("wave", 2), sides, {{1, 25, 6}}, steps}, 1, slabs,
                             rounds);
      }
    }
  }
}

TEST(SlabMarch, BoxesWithDeepHalosHaveTheBitsOfTheWhole) {
  const Sides mixed{{{{{Boundary::clamp, 0}, {Boundary::reflect, 0}}},
                     {{{Boundary::periodic, 0}, {Boundary::periodic, 0}}},
                     {{{Boundary::given, 0}, {Boundary::mirror, 0}}}}};
  for (const Sides& sides :
       {mixed, all_sides({Boundary::periodic}), all_sides({Boundary::given})}) {
    const Case<float> heat{named_stencil("heat", 3), sides, {{24, 22, 20}}, 5};
    const Case<double> wave{named_stencil("wave", 2), sides, {{1, 42, 40}}, 6};
    for (index_t rank = 0; rank < 8; ++rank) {
      const Index3 at{{rank / 4, rank / 2 % 2, rank % 2}}, extent{{12, 11, 10}};
      const Index3 origin{{at[0] * 12, at[1] * 11, at[2] * 10}};
      const Part<float> part(heat, origin, extent);
      expect_bits(heat, plan_of(part.sweep, 0, 4, {2, 2, 1}), origin, extent);
      const int d = static_cast<int>(rank % (sides[2][0].kind == Boundary::periodic ? 2 : 3));
      expect_bits(heat, plan_of(part.sweep, d, 3, {3, 2}), origin, extent);
    }
    for (const index_t y : {0, 14, 28}) {
      const Index3 origin{{0, y, 0}}, extent{{1, 14, 40}};
      const Part<double> part(wave, origin, extent);
      expect_bits(wave, plan_of(part.sweep, 1, 3, {2, 4}), origin, extent);
      if (sides[2][0].kind != Boundary::periodic)  // its rows are not split
        expect_bits(wave, plan_of(part.sweep, 2, 3, {5, 1}), origin, extent);
    }
  }
}

/// Expects the invariants of every plan.
template <class T>
void expect_sound(const Sweep<T>& sweep, const SlabPlan& plan, index_t limit) {
  EXPECT_LE(plan.device_bytes, limit);
  EXPECT_EQ(plan.device_bytes, 2 * plan.places * plan.elements * static_cast<index_t>(sizeof(T)));
  index_t steps = 0, sent = 0, brought = 0;
  const index_t plane =
      sweep.extent().volume() / sweep.extent()[plan.d] * static_cast<index_t>(sizeof(T));
  for (const index_t some : plan.rounds) steps += some;
  EXPECT_EQ(steps, sweep.steps);
  for (const SlabTask& task : tasks_of(sweep, plan)) {
    const auto slab = device_sweep(slab_sweep(sweep, task));
    EXPECT_LE(device_shape(slab.line, sizeof(T)).count, plan.elements);
    EXPECT_GE(task.out.size()[plan.d],
              std::max<index_t>(1, sweep.stencil.radius[plan.d] * task.steps));
    const Line& along = slab.line[plan.d];
    sent += (along.end - along.begin) * plane;
    brought += task.out.volume() * static_cast<index_t>(sizeof(T));
  }
  const index_t levels = sweep.stencil.two_levels() ? 2 : 1;
  EXPECT_GE(plan.sent_bytes, levels * sent);  // it counts two halos per slab
  EXPECT_LE(plan.sent_bytes, levels * sent * 4 / 3);
  EXPECT_EQ(plan.brought_bytes, levels * brought);
}

TEST(SlabPlan, FitsTheMemoryAndGivesTheBits) {
  int cut = 0;
  for (const Boundary kind : kinds) {
    const Sides sides = all_sides({kind, 0.5});
    for (const auto& [name, extent] : {std::pair{"heat", Index3{{1, 200, 20}}},
                                       {"wave", {{1, 200, 21}}},
                                       {"heat", {{160, 6, 13}}},
                                       {"star3", {{190, 6, 13}}}}) {
      const Case<float> c{named_stencil(name, extent[0] > 1 ? 3 : 2), sides, extent, 9};
      const Part<float> part(c);
      const index_t all = plan_slabs(part.sweep, index_t{1} << 40, 1)->device_bytes;
      for (const index_t share : {1, 2, 3}) {
        const SlabPlan plan = plan_slabs(part.sweep, all / share, 2).value();
        EXPECT_EQ(plan.whole(), share == 1);
        expect_sound(part.sweep, plan, all / share);
        expect_bits(c, plan, {}, extent);
        cut += plan.whole() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(cut, 0);
}

TEST(SlabPlan, TakesWhatFitsAtOnceAndRefusesWhatNoSlabHasRoomFor) {
  const Case<double> c{named_stencil("heat", 2), all_sides({}), {{1, 100, 1000}}, 4};
  const Part<double> part(c);
  EXPECT_TRUE(plan_slabs(part.sweep, index_t{1} << 30, 1)->whole());
  EXPECT_FALSE(plan_slabs(part.sweep, 2000, 1).has_value());
  EXPECT_THROW((void)plan_slabs(part.sweep, kernel(0, double{}), {.device_memory = 2000}), Error);
}

TEST(SlabPlan, CutsTheNextDimensionWhereTheSlowestIsTooShort) {
  const Case<float> c{named_stencil("heat", 3), all_sides({}), {{3, 500, 500}}, 4};
  const Part<float> part(c);
  const SlabPlan plan = plan_slabs(part.sweep, index_t{3} << 20, 1).value();
  EXPECT_EQ(plan.d, 1);
  expect_sound(part.sweep, plan, index_t{3} << 20);
}

Sweep<float> shape(const Stencil& stencil, Index3 extent, index_t steps) {
  Sweep<float> sweep{
      stencil, all_sides({}), extent, {}, {{nullptr, extent}, {nullptr, extent}}, steps, 1};
  sweep.level[0].dims = sweep.level[1].dims = stencil.dims;
  return sweep;
}

/// 256 GiB through 80 GiB: deeper rounds transfer less over the bus.
TEST(SlabPlan, HidesTheWayThereBehindManySteps) {
  const SlabRates rates{20e9, 4e12};
  constexpr index_t memory = index_t{80} << 30;
  double last = 1e9;
  for (const index_t steps : {1, 8, 64, 512}) {
    const auto sweep = shape(named_stencil("heat", 2), {{1, 1 << 18, 1 << 18}}, steps);
    const SlabPlan plan = plan_slabs(sweep, memory, 4, rates).value();
    const double a_step = plan.seconds / static_cast<double>(steps);
    EXPECT_LT(a_step, last);
    last = a_step;
    EXPECT_EQ(plan.rounds.size(), 1U);
    expect_sound(sweep, plan, memory);
  }
  // 2^36 points, read and written in every fourth step.
  const double floor = std::ldexp(8.0, 36) / 4 / rates.memory;
  EXPECT_LT(last, 1.2 * floor);
  const auto deep = shape(named_stencil("heat", 3), {{4096, 4096, 4096}}, 256);
  const SlabPlan plan = plan_slabs(deep, memory, 1, rates).value();
  EXPECT_GT(plan.rounds.size(), 1U);
  expect_sound(deep, plan, memory);
}

}  // namespace
}  // namespace tessera::stencil
