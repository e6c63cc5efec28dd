// Device-resident fields against the oracle on the host: equal bits for every transport, grid,
// exchange interval, boundary and kernel.

#include "dist/stencil/on_devices.hpp"

#include <algorithm>

#include "dist/stencil/plan.hpp"
#include "fields.hpp"
#include "kernels/stencil/standing_in.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::stencil {
namespace {

namespace kernels = tessera::stencil;
using kernels::all_sides;
using kernels::Front;
using kernels::make_stencil;
using kernels::named_stencil;
using kernels::Part;
using kernels::Side;

/// Returns the device rows; without a device their host substitutes.
template <class T>
std::vector<Variant> device_variants() {
  if (machine::gpus().devices.empty()) return kernels::standing_in::variants();
  std::vector<Variant> rows;
  for (const Variant& row : kernels::variants())
    if (row.on_device.of<T>().run != nullptr) rows.push_back(row);
  std::reverse(rows.begin(), rows.end());  // the default first
  return rows;
}
template <class T>
const ResidentKernels<T>* resident() {
  return machine::gpus().devices.empty() ? kernels::standing_in::kernels<T>()
                                         : kernels::resident_kernels<T>();
}

struct How {
  index_t halo_steps = 2;
  std::vector<index_t> calls = {5};  ///< steps of each call
  std::optional<Index3> parts = {};
  int fields = 1;
  index_t base_steps = 0;
  std::size_t variants = 2;  ///< number of variants to try
};

struct StencilOnDevices : ::testing::Test {
  const mpi::Communicator comm = mpi::Communicator::world();

  template <class T>
  void expect_oracle(const Stencil& stencil, const Sides& sides, Index3 global,
                     const How& how = {}) {
    const Scheme scheme{stencil, sides, global};
    index_t steps = 0;
    for (const index_t call : how.calls) steps += call;
    PlanRequest request{scheme, sizeof(T), steps, comm.size(), 1, how.halo_steps, how.parts};
    const Plan plan = make_plan(request);
    std::vector<oracle::Grid<T>> want;
    for (int field = 0; field < how.fields; ++field) {
      want.emplace_back(oracle::Case<T>{stencil, sides, global, steps, {}, field});
      for (index_t s = 0; s < steps; ++s) want.back().step();
    }
    const std::vector<Variant> rows = device_variants<T>();
    for (const auto& exchange : mpi::transports_here()) {
      for (std::size_t v = 0; v < std::min(how.variants, rows.size()); ++v) {
        for (const Overlap overlap : {Overlap::yes, Overlap::no}) {
          DistributedField<T> u(scheme, plan.grid, comm.rank(), plan.halo_steps, how.fields);
          for (int field = 0; field < how.fields; ++field) fill(u, field);
          const Method method{&rows[v], {.base_steps = how.base_steps}, 2, overlap};
          DeviceStencil<T> there(exchange, u, method, resident<T>());
          there.put(u);
          mpi::Phases phases;
          for (const index_t call : how.calls) there.advance(call, phases);
          there.get(u, {{}, u.box().size()});
          for (int field = 0; field < how.fields; ++field)
            EXPECT_EQ(comm.sum(differing(u, want[static_cast<std::size_t>(field)], field)), 0)
                << stencil.name << " " << global[0] << "x" << global[1] << "x" << global[2]
                << " grid " << layout::parts_text(plan.grid.parts, 3) << " T " << plan.halo_steps
                << " " << name(sides[2][0].kind) << " kernel " << rows[v].name << " by "
                << name(exchange.transport()) << (overlap == Overlap::yes ? " overlapped" : "")
                << " field " << field;
        }
      }
    }
  }
};

constexpr Boundary boundaries[] = {Boundary::clamp,    Boundary::mirror,   Boundary::reflect,
                                   Boundary::periodic, Boundary::constant, Boundary::given};

TEST_F(StencilOnDevices, HasTheBitsOfTheHostForEveryBoundaryAndDepth) {
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 0.75});
    for (const index_t halo_steps : {1, 3, 8}) {
      const How how{.halo_steps = halo_steps, .calls = {9}};
      expect_oracle<float>(named_stencil("heat", 2), sides, {{1, 67, 41}}, how);
      expect_oracle<double>(named_stencil("wave", 2), sides, {{1, 51, 33}}, how);
      expect_oracle<double>(named_stencil("heat", 3), sides, {{23, 22, 17}},
                            {.halo_steps = halo_steps});
    }
    expect_oracle<float>(named_stencil("advection", 1), sides, {{1, 1, 113}});
    expect_oracle<float>(named_stencil("box5x5", 2), sides, {{1, 40, 29}});
  }
}

TEST_F(StencilOnDevices, KeepsHalvesWithTheBitsOfTheHost) {
  std::vector<double> weights(15);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.01 * static_cast<double>(i + 1) / 3;
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 0.7});
    for (const index_t halo_steps : {1, 3, 8}) {
      const How how{.halo_steps = halo_steps, .calls = {9}, .variants = 6};
      expect_oracle<Half>(named_stencil("heat", 2), sides, {{1, 67, 41}}, how);
      expect_oracle<Half>(named_stencil("wave", 3), sides, {{23, 22, 17}},
                          {.halo_steps = halo_steps});
    }
    expect_oracle<Half>(named_stencil("box5x5", 2), sides, {{1, 40, 29}}, {.fields = 2});
    for (const index_t base_steps : {2, 3, 4})
      expect_oracle<Half>(named_stencil("heat", 3), sides, {{31, 22, 17}},
                          {.halo_steps = 4, .calls = {4, 7}, .base_steps = base_steps});
    expect_oracle<Half>(
        named_stencil("heat", 3), sides, {{17, 22, 24 * comm.size() + 5}},
        {.halo_steps = 4, .calls = {4, 7}, .parts = Index3{{1, 1, comm.size()}}, .base_steps = 4});
    expect_oracle<Half>(make_stencil("weights", 2, {{1, 3, 5}}, weights, -0.5), sides,
                        {{1, 40, 37}}, {.calls = {1, 3}});
  }
}

TEST_F(StencilOnDevices, HasTheBitsOfTheHostForEveryStencil) {
  int turn = 0;
  for (const auto& info : kernels::stencil_infos()) {
    for (int dims = info.min_dims; dims <= info.max_dims; ++dims) {
      const Index3 shape = dims == 1   ? Index3{{1, 1, 131}}
                           : dims == 2 ? Index3{{1, 47, 61}}
                                       : Index3{{19, 17, 21}};
      expect_oracle<float>(named_stencil(info.name, dims),
                           all_sides({boundaries[turn++ % 6], 0.75}), shape,
                           {.calls = {4}, .variants = 6});
    }
  }
  std::vector<double> weights(15);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01 * static_cast<double>(i + 1);
  expect_oracle<double>(make_stencil("weights", 2, {{1, 3, 5}}, weights, -0.5),
                        all_sides({Boundary::mirror}), {{1, 40, 37}},
                        {.calls = {4}, .variants = 6});
}

TEST_F(StencilOnDevices, HasTheBitsOfTheHostOnEveryGrid) {
  const Sides sides{{{{{Boundary::clamp, 0}, {Boundary::mirror, 0}}},
                     {{{Boundary::constant, 2}, {Boundary::given, 0}}},
                     {{{Boundary::periodic, 0}, {Boundary::periodic, 0}}}}};
  for (index_t z = 1; z <= comm.size(); ++z) {
    if (comm.size() % z != 0) continue;
    for (index_t y = 1; y <= comm.size() / z; ++y) {
      if (comm.size() / z % y != 0) continue;
      const Index3 parts{{z, y, comm.size() / z / y}};
      expect_oracle<float>(named_stencil("heat", 3), sides, {{25, 26, 27}},
                           {.halo_steps = 2, .calls = {6}, .parts = parts});
      expect_oracle<double>(named_stencil("wave", 3), all_sides({Boundary::periodic, 0}),
                            {{25, 23, 22}}, {.halo_steps = 1, .calls = {3}, .parts = parts});
    }
  }
}

TEST_F(StencilOnDevices, HasTheBitsOfTheHostForAnyShape) {
  for (index_t turn = 0; turn < 8; ++turn) {
    const auto random = [&](index_t stream, index_t most) {
      return 1 + static_cast<index_t>(random_bits(5, static_cast<std::uint64_t>(stream), turn) %
                                      static_cast<std::uint64_t>(most));
    };
    const Side side{boundaries[turn % 6], 0.5};
    const How how{.halo_steps = random(0, 6), .calls = {random(1, 5), random(2, 9)}};
    expect_oracle<float>(named_stencil("heat", 2), all_sides(side),
                         {{1, random(3, 90), random(4, 70)}}, how);
    expect_oracle<double>(named_stencil("star2", 3), all_sides(side),
                          {{random(5, 30), random(6, 12), random(7, 14)}}, how);
  }
  const Sides sides = all_sides({Boundary::reflect, 0});
  for (const Index3 thin : {Index3{{1, 0, 4}},
                            {{1, 1, 1}},
                            {{1, 2, 2}},
                            {{1, 97, 1}},
                            {{1, 1, 97}},
                            {{1, 96, 5}},
                            {{1, 3, 200}}}) {
    expect_oracle<double>(named_stencil("heat", 2), sides, thin,
                          {.halo_steps = 3, .calls = {4, 3}});
  }
}

TEST_F(StencilOnDevices, GoesOnHoweverTheStepsAreCut) {
  const Sides sides = all_sides({Boundary::mirror});
  for (const index_t base_steps : {0, 2, 4}) {
    const How how{.halo_steps = 7, .calls = {1, 7, 0, 3, 9, 15, 2}, .base_steps = base_steps};
    expect_oracle<float>(named_stencil("heat", 2), sides, {{1, 133, 45}}, how);
    expect_oracle<double>(named_stencil("heat", 3), sides, {{60, 9, 11}}, how);
  }
}

TEST_F(StencilOnDevices, TakesSeveralFieldsInOneMessageANeighbour) {
  const Sides sides = all_sides({Boundary::periodic});
  expect_oracle<float>(named_stencil("heat", 2), sides, {{1, 53, 40}}, {.fields = 3});
  expect_oracle<double>(named_stencil("wave", 2), sides, {{1, 53, 40}}, {.fields = 2});
}

TEST_F(StencilOnDevices, ManyStretchesDoNotRace) {
  const Sides sides = all_sides({Boundary::periodic});
  expect_oracle<float>(named_stencil("heat", 2), sides, {{1, 120, 60}},
                       {.halo_steps = 1, .calls = {60}, .variants = 1});
  expect_oracle<double>(named_stencil("heat", 2), sides, {{1, 120, 60}},
                        {.halo_steps = 4, .calls = {60}, .variants = 1});
  expect_oracle<float>(named_stencil("heat", 3), sides, {{32, 16, 16}},
                       {.halo_steps = 1, .calls = {40}, .variants = 1});
  expect_oracle<double>(named_stencil("wave", 3), sides, {{32, 16, 16}},
                        {.halo_steps = 2, .calls = {20}, .variants = 1});
}

TEST_F(StencilOnDevices, BringsBackPartsAndNothingElse) {
  const Scheme scheme{named_stencil("heat", 2), all_sides({Boundary::clamp}), {{1, 40, 50}}};
  const Plan plan = make_plan({scheme, 8, 4, comm.size(), 1, 2});
  DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
  fill(u);
  const auto rows = device_variants<double>();
  DeviceStencil<double> there(mpi::transports_here().back(), u, {.kernel = &rows.front()},
                              resident<double>());
  there.put(u);
  const Index3 size = u.box().size();
  std::vector<double> before;
  for (index_t i = 0; i < size.volume(); ++i) {
    double& at = u.now()(i / size[2], i % size[2]);
    before.push_back(at);
    at = -7;
  }
  const Box3 part{{{0, 1, 2}}, {{1, 3, 30}}};
  there.get(u, part);
  for (index_t i = 0; i < size.volume(); ++i) {
    const index_t y = i / size[2], x = i % size[2];
    const bool wanted = y >= 1 && y < 3 && x >= 2 && x < 30;
    EXPECT_EQ(u.now()(y, x), wanted ? before[static_cast<std::size_t>(i)] : -7) << y << ' ' << x;
  }
}

TEST_F(StencilOnDevices, NeedsAKernelForThemAndNoTerms) {
  const Scheme scheme{named_stencil("heat", 2), all_sides({Boundary::clamp}), {{1, 40, 50}}};
  const Plan plan = make_plan({scheme, 8, 4, comm.size(), 1, 2});
  const DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
  const Method host{.kernel = find_variant(kernels::variants(), "naive")};
  EXPECT_THROW(DeviceStencil<double>(mpi::transports_here().back(), u, host, resident<double>()),
               Error);
  Scheme with_terms = scheme;
  with_terms.terms = oracle::terms_of(1);
  const DistributedField<double> v(with_terms, plan.grid, comm.rank(), plan.halo_steps);
  const auto rows = device_variants<double>();
  EXPECT_THROW(DeviceStencil<double>(mpi::transports_here().back(), v, {.kernel = &rows.front()},
                                     resident<double>()),
               Error);
}

/// Expects that one part computes every point of every step, after its inputs and before they are
/// overwritten.
void expect_parts_right(Index3 size, const Edges& edges, Index3 radius,
                        const std::vector<index_t>& passes) {
  index_t steps = 0;
  for (const index_t pass : passes) steps += pass;
  const Index3 depth{{radius[0] * steps, radius[1] * steps, radius[2] * steps}};
  const std::vector<Part> parts = device_parts(size, edges, depth);
  if (parts.empty()) return;
  kernels::DeviceSweep<float> s;
  s.radius = radius;
  s.steps = steps;
  // By point including its halo and by level: the number of completed steps.
  Index3 around = size;
  for (int d = 0; d < 3; ++d) around[d] += 2 * depth[d];
  std::vector<index_t> levels[2];
  for (auto& level : levels) level.assign(static_cast<std::size_t>(around.volume()), -1);
  const auto cell = [&](Index3 p) {
    return static_cast<std::size_t>(((p[0] + depth[0]) * around[1] + p[1] + depth[1]) * around[2] +
                                    p[2] + depth[2]);
  };
  const auto exchanged = [&](int d, int side) {
    return edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] == Edge::exchanged;
  };
  std::fill(levels[0].begin(), levels[0].end(), 0);
  index_t wrong = 0;
  for (const Part& part : parts) {
    s.part = part;
    index_t done = 0;
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
      const auto& in = levels[pass % 2];
      auto& out = levels[(pass + 1) % 2];
      const kernels::Region region = s.valid(done + passes[pass]);
      kernels::standing_in::each_point(region.low, region.high, [&](Index3 p) {
        for (int d = 0; d < 3; ++d) {
          for (const index_t away : {-radius[d] * passes[pass], radius[d] * passes[pass]}) {
            Index3 q = p;
            q[d] += away;
            if ((q[d] < 0 && !exchanged(d, 0)) || (q[d] >= size[d] && !exchanged(d, 1))) continue;
            wrong += in[cell(q)] == done ? 0 : 1;
          }
        }
        wrong += pass >= 1 && out[cell(p)] != done - passes[pass - 1] ? 1 : 0;  // computes it once
        out[cell(p)] = done + passes[pass];
      });
      done += passes[pass];
    }
  }
  const auto& last = levels[passes.size() % 2];
  kernels::standing_in::each_point({}, size,
                                   [&](Index3 p) { wrong += last[cell(p)] == steps ? 0 : 1; });
  EXPECT_EQ(wrong, 0) << size[0] << 'x' << size[1] << 'x' << size[2] << " passes " << passes.size();
}

TEST(DeviceParts, ComputeEveryPointOfEveryStepOnceFromWhatIsThere) {
  for (int which = 0; which < 64; ++which) {
    Edges edges{};
    for (int k = 0; k < 6; ++k) {
      if ((which >> k & 1) != 0)
        edges[static_cast<std::size_t>(k / 2)][static_cast<std::size_t>(k % 2)] = Edge::exchanged;
    }
    for (const std::vector<index_t>& passes : std::vector<std::vector<index_t>>{
             {1}, {2}, {1, 1}, {1, 1, 1}, {1, 2}, {2, 2, 3}, {1, 1, 1, 1}}) {
      for (const index_t n : {9, 15, 16})
        expect_parts_right({{n, 15, 17}}, edges, {{1, 1, 1}}, passes);
      expect_parts_right({{1, 29, 30}}, edges, {{0, 2, 1}}, passes);
    }
  }
}

}  // namespace
}  // namespace tessera::dist::stencil
