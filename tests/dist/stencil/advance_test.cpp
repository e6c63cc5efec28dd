// All ranks against the oracle on one: equal bits for every grid, exchange interval, boundary and
// kernel.

#include "dist/stencil/advance.hpp"

#include <gtest/gtest.h>

#include "dist/stencil/halo_window.hpp"
#include "dist/stencil/plan.hpp"
#include "dist/stencil/samples.hpp"
#include "fields.hpp"
#include "kernels/stencil/usable.hpp"

namespace tessera::dist::stencil {
namespace {

namespace kernels = tessera::stencil;
using kernels::all_sides;
using kernels::named_stencil;
using kernels::Side;
using kernels::oracle::Case;
using kernels::oracle::Grid;
using mpi::Communicator;

Scheme problem_of(const Stencil& stencil, const Sides& sides, Index3 global, int terms = 0) {
  return {stencil, sides, global, kernels::oracle::terms_of(terms)};
}

/// Returns the oracle's terms, with their ghost layers.
template <class T>
std::shared_ptr<const TermFields<T>> terms_of(const Scheme& scheme, const Plan& plan, int rank) {
  auto fields = std::make_shared<TermFields<T>>(scheme, plan.grid, rank, plan.halo_steps);
  const Box3 box = fields->box();
  for (const Term term : all_terms) {
    const GridView<T> view = (*fields)[term];
    if (view.data == nullptr) continue;
    for (index_t z = box.low[0]; z < box.high[0]; ++z) {
      for (index_t y = box.low[1]; y < box.high[1]; ++y) {
        for (index_t x = box.low[2]; x < box.high[2]; ++x) {
          Index3 p{{z, y, x}};
          for (int d = 0; d < 3; ++d) {
            if (scheme.periodic()[static_cast<std::size_t>(d)])
              p[d] = kernels::oracle::outside_source(Boundary::periodic, p[d], scheme.global[d]);
          }
          view(z - box.low[0], y - box.low[1], x - box.low[2]) =
              static_cast<T>(kernels::oracle::term_of<Arithmetic<T>>(scheme.stencil, scheme.sides,
                                                                     scheme.global, term, p));
        }
      }
    }
  }
  return fields;
}

struct How {
  index_t steps = 5;
  index_t halo_steps = 2;
  std::optional<Index3> parts = {};
  const char* kernel = nullptr;
  int threads = 1;
  Overlap overlap = Overlap::no;
  int fields = 1;
  bool window = false;
  std::vector<double> weights = {};
};

template <class T>
void expect_oracle(const Scheme& scheme, const How& how) {
  const auto comm = Communicator::world();
  PlanRequest request{scheme,      sizeof(T),      how.steps, comm.size(),
                      how.threads, how.halo_steps, how.parts};
  request.weights = how.weights;
  const Plan plan = make_plan(request);
  DistributedField<T> u(scheme, plan.grid, comm.rank(), plan.halo_steps, how.fields);
  for (int field = 0; field < how.fields; ++field) fill(u, field);
  u.use(terms_of<T>(scheme, plan, comm.rank()));
  if (how.window) u.use(std::make_shared<HaloWindow<T>>(comm, u));
  Method method{.threads = how.threads, .overlap = how.overlap};
  if (how.kernel != nullptr) method.kernel = find_variant(kernels::variants(), how.kernel);
  mpi::Phases phases;
  const index_t checked = std::min<index_t>(how.steps, 2);
  advance(comm, u, how.steps - checked, method, phases);
  std::vector<Samples<T>> samples;
  for (int field = 0; field < how.fields; ++field) samples.emplace_back(comm, u, checked, 3, field);
  const Traffic traffic = advance(comm, u, checked, method, phases);
  for (int field = 0; field < how.fields; ++field) {
    auto& of_field = samples[static_cast<std::size_t>(field)];
    of_field.record(u);
    EXPECT_EQ(of_field.wrong(), 0);
    Grid<T> want({scheme.stencil, scheme.sides, scheme.global, how.steps, scheme.terms, field});
    for (index_t s = 0; s < how.steps; ++s) want.step();
    EXPECT_EQ(comm.sum(differing(u, want, field)), 0)
        << scheme.stencil.name << " " << scheme.stencil.dims << "-D grid "
        << layout::parts_text(plan.grid.parts, 3) << " T " << plan.halo_steps << " "
        << name(scheme.sides[2][0].kind) << " kernel "
        << (how.kernel != nullptr ? how.kernel : "auto") << " field " << field;
  }
  EXPECT_EQ(traffic.exchanges, ceil_div(checked, plan.halo_steps));
}

using tessera::stencil::boundaries;

TEST(Advance, GivesTheBitsOfOneRankForEveryBoundaryAndDepth) {
  for (const Boundary kind : boundaries) {
    for (const index_t halo_steps : {1, 3, 16}) {
      const How how{.steps = 7, .halo_steps = halo_steps};
      const Sides sides = all_sides({kind, 0.75});
      expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 37, 41}}), how);
      expect_oracle<float>(problem_of(named_stencil("box5x5", 2), sides, {{1, 40, 29}}), how);
      expect_oracle<float>(problem_of(named_stencil("advection", 1), sides, {{1, 1, 113}}), how);
      expect_oracle<double>(problem_of(named_stencil("star2", 3), sides, {{13, 12, 17}}), how);
      expect_oracle<double>(problem_of(named_stencil("wave", 2), sides, {{1, 31, 33}}), how);
    }
  }
}

TEST(Advance, KeepsHalvesLikeOneRank) {
  const auto comm = Communicator::world();
  std::size_t turn = 0;
  const auto usable = kernels::usable_variants();
  const auto next = [&] { return usable[turn++ % usable.size()].name.data(); };
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 0.75});
    for (const index_t halo_steps : {1, 4}) {
      How how{.steps = 7, .halo_steps = halo_steps, .kernel = next(), .fields = 2};
      how.window = halo_steps == 4;
      how.overlap = turn % 2 == 0 ? Overlap::yes : Overlap::no;
      expect_oracle<Half>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}), how);
      expect_oracle<Half>(problem_of(named_stencil("box7x7", 2), sides, {{1, 60, 33}}), how);
      expect_oracle<Half>(problem_of(named_stencil("wave", 3), sides, {{17, 16, 18}}), how);
      expect_oracle<Half>(problem_of(named_stencil("advection", 1), sides, {{1, 1, 213}}), how);
      expect_oracle<BFloat16>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}), how);
    }
    expect_oracle<Half>(problem_of(named_stencil("heat", 2), sides, {{1, 40, 39}}),
                        {.parts = Index3{{1, 1, comm.size()}}});
  }
}

TEST(Advance, GivesTheSameBitsForEveryGridAndKernel) {
  const auto comm = Communicator::world();
  const Sides sides{{{{{Boundary::clamp, 0}, {Boundary::mirror, 0}}},
                     {{{Boundary::constant, 2}, {Boundary::reflect, 0}}},
                     {{{Boundary::periodic, 0}, {Boundary::periodic, 0}}}}};
  const auto usable = kernels::usable_variants();
  std::size_t turn = 0;  // every kernel with some grids, every grid with two kernels
  for (index_t z = 1; z <= comm.size(); ++z) {
    if (comm.size() % z != 0) continue;
    for (index_t y = 1; y <= comm.size() / z; ++y) {
      if (comm.size() / z % y != 0) continue;
      const Index3 parts{{z, y, comm.size() / z / y}};
      const auto next = [&] {
        const auto& variant = usable[turn++ % usable.size()];
        return How{.steps = 6,
                   .halo_steps = 3,
                   .parts = parts,
                   .kernel = variant.name.data(),
                   .threads = variant.name == "cache_oblivious" ? 2 : 1};
      };
      expect_oracle<float>(problem_of(named_stencil("heat", 3), sides, {{22, 23, 24}}), next());
      expect_oracle<double>(problem_of(named_stencil("wave", 3), sides, {{21, 23, 22}}), next());
    }
  }
}

TEST(Advance, GivesTheSameBitsWhileTheHaloTravels) {
  for (const Boundary kind : boundaries) {
    for (const index_t halo_steps : {1, 2, 3}) {
      const How how{.steps = 7, .halo_steps = halo_steps, .overlap = Overlap::yes};
      const Sides sides = all_sides({kind, 0.75});
      expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}), how);
      expect_oracle<float>(problem_of(named_stencil("star2", 3), sides, {{26, 27, 28}}), how);
      expect_oracle<double>(problem_of(named_stencil("wave", 3), sides, {{20, 21, 22}}), how);
      How square = how;
      const index_t ranks = Communicator::world().size();
      square.parts = Index3{{1, ranks % 2 == 0 ? 2 : 1, ranks % 2 == 0 ? ranks / 2 : ranks}};
      expect_oracle<float>(problem_of(named_stencil("wave", 2), sides, {{1, 47, 95}}), square);
    }
  }
}

/// As if one rank drove a GPU, or the ranks ran on different machines.
TEST(Advance, GivesTheSameBitsWhereBoxesGoBySpeed) {
  const int ranks = Communicator::world().size();
  std::vector<double> one(static_cast<std::size_t>(ranks), 1), all;
  one.front() = 40;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(1 + rank * 37 % 11);
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 0.75});
    for (const auto& weights : {one, all}) {
      for (const Overlap overlap : {Overlap::no, Overlap::yes}) {
        How how{.steps = 7, .halo_steps = 2, .overlap = overlap, .weights = weights};
        expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 97, 41}}), how);
        expect_oracle<Half>(problem_of(named_stencil("box5x5", 2), sides, {{1, 33, 95}}), how);
        how.window = true;
        how.fields = 2;
        expect_oracle<float>(problem_of(named_stencil("wave", 3), sides, {{61, 12, 17}}, 5), how);
      }
    }
  }
}

TEST(Advance, ReadsTermsAtTheSamePointsOnEveryRank) {
  int which = 1;
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 0.75});
    for (const index_t halo_steps : {1, 3, 16}) {
      for (const Overlap overlap : {Overlap::no, Overlap::yes}) {
        const How how{.steps = 7, .halo_steps = halo_steps, .overlap = overlap};
        expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}, which),
                              how);
        expect_oracle<float>(problem_of(named_stencil("wave", 3), sides, {{17, 16, 18}}, which),
                             how);
        which = which % 15 + 1;
      }
    }
    expect_oracle<float>(problem_of(named_stencil("box5x5", 2), sides, {{1, 40, 29}}, 15),
                         {.halo_steps = 2});
    expect_oracle<float>(problem_of(named_stencil("life", 2), sides, {{1, 40, 29}}, 4),
                         {.halo_steps = 2});
  }
}

TEST(Advance, IsFoundWrongWhereWallsAreNotThoseOfTheDomain) {
  const auto comm = Communicator::world();
  const Scheme scheme =
      problem_of(named_stencil("heat", 2), all_sides({Boundary::clamp}), {{1, 40, 41}}, 8);
  const Plan plan = make_plan({scheme, sizeof(double), 2, comm.size(), 1, 2});
  auto open = std::make_shared<TermFields<double>>(scheme, plan.grid, comm.rank(), plan.halo_steps);
  const Box3 box = open->box();
  for (index_t y = box.low[1]; y < box.high[1]; ++y) {
    for (index_t x = box.low[2]; x < box.high[2]; ++x)
      (*open)[Term::walls](y - box.low[1], x - box.low[2]) =
          kernels::oracle::is_hidden({{0, y, x}}) ? std::numeric_limits<double>::quiet_NaN() : 0;
  }
  DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
  fill(u);
  u.use(open);
  Samples<double> samples(comm, u, 2, 3);
  mpi::Phases phases;
  (void)advance(comm, u, 2, {}, phases);
  samples.record(u);
  EXPECT_GT(samples.wrong(), 0);
}

TEST(Advance, TakesSeveralFieldsInOneMessageANeighbour) {
  for (const Boundary kind : {Boundary::periodic, Boundary::given}) {
    for (const Overlap overlap : {Overlap::no, Overlap::yes}) {
      const How how{.steps = 7, .halo_steps = 3, .overlap = overlap, .fields = 3};
      const Sides sides = all_sides({kind, 0.75});
      expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}, 5), how);
      expect_oracle<float>(problem_of(named_stencil("wave", 3), sides, {{17, 16, 18}}), how);
    }
  }
  const auto comm = Communicator::world();
  const Scheme scheme =
      problem_of(named_stencil("heat", 2), all_sides({Boundary::clamp}), {{1, 60, 60}});
  PlanRequest request{scheme, 8, 4, comm.size(), 1, 2};
  request.fields = 2;
  const Plan plan = make_plan(request);
  DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps, 2);
  fill(u, 0);
  fill(u, 1);
  mpi::Phases phases;
  const Forecast two = forecast(request, plan, comm.rank());
  EXPECT_EQ(advance(comm, u, 4, {}, phases).messages, two.messages);
  request.fields = 1;
  const Forecast one = forecast(request, plan, comm.rank());
  EXPECT_EQ(one.messages, two.messages);
  EXPECT_EQ(2 * one.received_bytes, two.received_bytes);
}

TEST(Advance, ReadsTheHalosOfItsNodeInAWindow) {
  for (const Boundary kind : boundaries) {
    for (const index_t halo_steps : {1, 3}) {
      const Overlap overlap = halo_steps == 1 ? Overlap::no : Overlap::yes;
      const Sides sides = all_sides({kind, 0.75});
      How how{.steps = 10, .halo_steps = halo_steps, .overlap = overlap, .window = true};
      expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 57, 61}}), how);
      expect_oracle<float>(problem_of(named_stencil("star2", 3), sides, {{17, 16, 18}}), how);
      how.fields = 2;
      expect_oracle<double>(problem_of(named_stencil("wave", 3), sides, {{17, 16, 18}}, 1), how);
    }
  }
  expect_oracle<double>(problem_of(named_stencil("heat", 2), all_sides({}), {{1, 0, 4}}),
                        {.steps = 3, .window = true});
}

TEST(Advance, TakesGivenValuesBesideClosedDimensions) {
  for (const int given_dim : {1, 2}) {
    Sides sides = all_sides({Boundary::periodic, 0});
    sides[static_cast<std::size_t>(given_dim)] = {{{Boundary::given, 0}, {Boundary::constant, 1}}};
    expect_oracle<double>(problem_of(named_stencil("box3x3", 2), sides, {{1, 35, 36}}),
                          {.steps = 6, .halo_steps = 4});
    expect_oracle<double>(problem_of(named_stencil("star1", 2), sides, {{1, 35, 36}}),
                          {.steps = 5, .halo_steps = 1});
  }
}

TEST(Advance, WorksWithoutPointsStepsOrEnoughRowsForEveryRank) {
  const Sides sides = all_sides({Boundary::reflect, 0});
  expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 0, 4}}), {.steps = 3});
  expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 9, 9}}), {.steps = 0});
  expect_oracle<double>(problem_of(named_stencil("heat", 2), sides, {{1, 1, 1}}), {.steps = 4});
  expect_oracle<double>(problem_of(named_stencil("star4", 2), sides, {{1, 5, 6}}),
                        {.steps = 4, .halo_steps = 9});
  expect_oracle<float>(
      problem_of(named_stencil("life", 2), all_sides({Boundary::periodic, 0}), {{1, 3, 2}}),
      {.steps = 4});
}

TEST(Advance, SendsOneMessageANeighbourForManySteps) {
  const auto comm = Communicator::world();
  const Scheme scheme =
      problem_of(named_stencil("heat", 2), all_sides({Boundary::clamp, 0}), {{1, 160, 160}});
  const auto messages = [&](index_t halo_steps) {
    const Plan plan = make_plan({scheme, 8, 32, comm.size(), 1, halo_steps});
    DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
    fill(u);
    mpi::Phases phases;
    const Traffic traffic = advance(comm, u, 32, {}, phases);
    EXPECT_EQ(traffic.messages,
              forecast({scheme, 8, 32, comm.size(), 1, halo_steps}, plan, comm.rank()).messages);
    return comm.sum(traffic.messages);
  };
  const index_t often = messages(1), seldom = messages(8);
  EXPECT_EQ(seldom * 8, often);
}

TEST(Samples, SeeAWrongHaloAndAWrongPoint) {
  const auto comm = Communicator::world();
  const Scheme scheme =
      problem_of(named_stencil("heat", 2), all_sides({Boundary::periodic, 0}), {{1, 40, 40}});
  const Plan plan = make_plan({scheme, 8, 4, comm.size(), 1, 2});
  const auto wrong = [&](bool spoil_halo, bool spoil_point) {
    DistributedField<double> u(scheme, plan.grid, comm.rank(), plan.halo_steps);
    fill(u);
    Samples<double> samples(comm, u, 2, 1);
    mpi::Phases phases;
    if (spoil_halo) {  // two exchanges of one step each, the first of another field
      DistributedField<double> other(scheme, plan.grid, comm.rank(), 1);
      fill(other);
      other.now()(0, 0) += 1;
      advance(comm, other, 2, {}, phases);
      if (u.box().low == Index3{}) u.now()(0, 0) = other.now()(0, 0);
    }
    advance(comm, u, 2, {}, phases);
    if (spoil_point && u.box().low == Index3{}) u.now()(0, 0) += 1e-9;
    samples.record(u);
    return samples.wrong();
  };
  EXPECT_EQ(wrong(false, false), 0);
  EXPECT_GE(wrong(true, false), 1);
  EXPECT_EQ(wrong(false, true), 1);
}

}  // namespace
}  // namespace tessera::dist::stencil
