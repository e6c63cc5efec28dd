// Values beyond given sides persist for every division of the steps into calls, sweeps and
// exchanges.

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "dist/stencil/advance.hpp"
#include "dist/stencil/halo_window.hpp"
#include "dist/stencil/plan.hpp"
#include "fields.hpp"
#include "kernels/stencil/usable.hpp"

namespace tessera::dist::stencil {
namespace {

namespace kernels = tessera::stencil;
using kernels::named_stencil;
using kernels::Side;
using kernels::oracle::Grid;
using mpi::Communicator;

/// Spoils the ghost layers of the previous level: callers write given values into now() only.
template <class T>
void spoil_past(DistributedField<T>& u, int field) {
  const Box3 own{{}, u.box().size()};
  const auto& ghosts = u.ghosts();
  for (index_t z = -ghosts[0][0]; z < own.high[0] + ghosts[0][1]; ++z) {
    for (index_t y = -ghosts[1][0]; y < own.high[1] + ghosts[1][1]; ++y) {
      for (index_t x = -ghosts[2][0]; x < own.high[2] + ghosts[2][1]; ++x) {
        const bool inside =
            z >= 0 && z < own.high[0] && y >= 0 && y < own.high[1] && x >= 0 && x < own.high[2];
        if (!inside)
          u.past(field)(z, y, x) = static_cast<T>(std::numeric_limits<Arithmetic<T>>::quiet_NaN());
      }
    }
  }
}

/// Random cases, equal on every rank.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : bits_(seed) {}
  index_t from(index_t low, index_t high) {
    return low + static_cast<index_t>(bits_()) % (high - low + 1);
  }
  bool one_of(index_t n) { return from(1, n) == 1; }

  /// Returns sides, of which half of those that are not periodic are given.
  Sides sides() {
    Sides sides;
    for (auto& dimension : sides) {
      if (one_of(4)) {
        dimension = {{{Boundary::periodic, 0}, {Boundary::periodic, 0}}};
        continue;
      }
      for (Side& side : dimension) {
        constexpr Boundary others[]{Boundary::clamp, Boundary::mirror, Boundary::reflect,
                                    Boundary::constant};
        side = {one_of(2) ? Boundary::given : others[from(0, 3)], 0.75};
      }
    }
    return sides;
  }

  Stencil stencil() {
    constexpr const char* names[]{"heat",  "box3x3", "wave",   "advection",
                                  "star2", "star4",  "box7x7", "life"};
    for (;;) {
      const std::string name = names[from(0, 7)];
      const int dims = static_cast<int>(from(1, 3));
      if ((name.starts_with("box") || name == "life") && dims != 2) continue;
      return named_stencil(name, dims);
    }
  }

 private:
  std::mt19937 bits_;
};

template <class T>
void expect_oracle_after_every_call(Draw& draw) {
  const auto comm = Communicator::world();
  const Stencil stencil = draw.stencil();
  Index3 global{{1, 1, draw.from(1, stencil.dims == 1 ? 90 : 30)}};
  for (int d = 3 - stencil.dims; d < 2; ++d) global[d] = draw.from(1, stencil.dims == 2 ? 40 : 16);
  const Scheme scheme{stencil, draw.sides(), global, {}};
  const index_t halo_steps = draw.from(1, 6);
  const int fields = static_cast<int>(draw.from(1, 2));
  const Plan plan = make_plan({scheme, sizeof(T), 7, comm.size(), 1, halo_steps});
  DistributedField<T> u(scheme, plan.grid, comm.rank(), plan.halo_steps, fields);
  const auto usable = kernels::usable_variants();
  Method method{.threads = static_cast<int>(draw.from(1, 2)),
                .overlap = draw.one_of(2) ? Overlap::yes : Overlap::no};
  const index_t kernel = draw.from(0, static_cast<index_t>(usable.size()));
  if (kernel > 0)
    method.kernel =
        find_variant(kernels::variants(), usable[static_cast<std::size_t>(kernel - 1)].name);
  if (draw.one_of(2)) u.use(std::make_shared<HaloWindow<T>>(comm, u));
  std::vector<Grid<T>> want;
  for (int field = 0; field < fields; ++field) {
    fill(u, field);
    spoil_past(u, field);
    want.emplace_back(kernels::oracle::Case<T>{stencil, scheme.sides, global, 7, {}, field});
  }
  std::ostringstream calls;
  mpi::Phases phases;
  for (index_t left = 7; left > 0;) {
    const index_t steps = std::min(left, draw.one_of(2) ? 1 : draw.from(1, 4));
    left -= steps;
    calls << " advance(" << steps << ")";
    advance(comm, u, steps, method, phases);
    for (int field = 0; field < fields; ++field) {
      auto& grid = want[static_cast<std::size_t>(field)];
      for (index_t s = 0; s < steps; ++s) grid.step();
      ASSERT_EQ(comm.sum(differing(u, grid, field)), 0)
          << stencil.name << " " << layout::parts_text(global, 3) << " of " << sizeof(T)
          << " bytes, T " << halo_steps << ", kernel "
          << (method.kernel != nullptr ? method.kernel->name : "auto") << ":" << calls.str();
    }
  }
}

TEST(Given, ValuesAreKeptHoweverTheStepsAreDivided) {
  Draw draw(36);
  for (int turn = 0; turn < 200 && !testing::Test::HasFatalFailure(); ++turn) {
    expect_oracle_after_every_call<double>(draw);
    expect_oracle_after_every_call<float>(draw);
    expect_oracle_after_every_call<Half>(draw);
  }
}

/// One process: sweeps of one kernel, each starting from the results of the last.
TEST(Given, ValuesStandInBothLevelsAfterASweepOfAnyKernel) {
  const Stencil heat = named_stencil("heat", 2);
  const Index3 extent{{1, 9, 11}};
  const Sides sides = kernels::all_sides({Boundary::given, 0});
  for (const auto& variant : kernels::usable_variants()) {
    auto field = kernels::whole_field<double>(heat, extent);
    const Scheme scheme{heat, sides, extent, {}};
    Grid<double> want({heat, sides, extent, 5, {}});
    kernels::Sweep<double> sweep = kernels::whole_sweep(heat, sides, field, 1, 1);
    kernels::oracle::load(want, sweep, kernels::ghosts_for(heat, 1, {}),
                          {heat, sides, extent, 5, {}});
    for (int step = 0; step < 5; ++step) {
      run(variant, sweep);
      std::swap(sweep.level[0], sweep.level[1]);
      want.step();
      index_t wrong = 0;
      want.each([&](Index3 p) { wrong += sweep.level[0](p) == want(p) ? 0 : 1; });
      EXPECT_EQ(wrong, 0) << variant.name << " after " << step + 1;
    }
  }
}

/// A caller may write other values between two calls.
TEST(Given, ValuesWrittenBetweenCallsCount) {
  const auto comm = Communicator::world();
  Sides sides = kernels::all_sides({Boundary::clamp, 0});
  sides[2] = {{{Boundary::given, 0}, {Boundary::given, 0}}};
  const Scheme scheme{named_stencil("heat", 1), sides, {{1, 1, 24}}, {}};
  const Plan plan = make_plan({scheme, sizeof(double), 6, comm.size(), 1, 2});
  const auto after = [&](index_t step) { return static_cast<double>(step) + 0.5; };
  DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
  std::vector<double> want(26, 0.0);
  const Box3 box = u.box();
  for (index_t x = box.low[2]; x < box.high[2]; ++x) u.now()(0, 0, x - box.low[2]) = 0;
  const auto weights = scheme.stencil.taps;
  mpi::Phases phases;
  for (index_t step = 0; step < 6; ++step) {
    if (!box.empty() && box.low[2] == 0) u.now()(0, 0, -1) = after(step);
    if (!box.empty() && box.high[2] == 24) u.now()(0, 0, 24 - box.low[2]) = -after(step);
    want.front() = after(step);
    want.back() = -after(step);
    std::vector<double> next = want;
    for (std::size_t i = 1; i <= 24; ++i) {
      next[i] = 0;
      for (const auto& tap : weights)
        next[i] +=
            tap.weight * want[static_cast<std::size_t>(static_cast<index_t>(i) + tap.offset[2])];
    }
    want = next;
    advance(comm, u, 1, {}, phases);
    for (index_t x = box.low[2]; x < box.high[2]; ++x)
      EXPECT_NEAR(u.now()(0, 0, x - box.low[2]), want[static_cast<std::size_t>(x + 1)], 1e-12) << x;
  }
}

}  // namespace
}  // namespace tessera::dist::stencil
