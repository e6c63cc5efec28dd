#include "dist/stencil/plan.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace tessera::dist::stencil {
namespace {

using tessera::stencil::all_sides;
using tessera::stencil::named_stencil;

PlanRequest request_of(Index3 global, index_t ranks, index_t steps = 100) {
  const int dims = global[0] > 1 ? 3 : global[1] > 1 ? 2 : 1;
  return {{named_stencil("heat", dims), all_sides({Boundary::clamp, 0}), global}, 8, steps, ranks};
}

TEST(MakePlan, ExchangesSeldomWhereMessagesAreDear) {
  PlanRequest request = request_of({{1, 2000, 2000}}, 4);
  request.cache_bytes = index_t{1} << 30;
  request.rates.network.latency = 1e-9;
  request.rates.network.crowd_bandwidth = 1e9;
  const Plan cheap = make_plan(request);
  request.rates.network.latency = 1e-3;
  const Plan dear = make_plan(request);
  EXPECT_LT(cheap.halo_steps, dear.halo_steps);
  EXPECT_GE(dear.halo_steps, 8);
}

TEST(MakePlan, GivesBlocksInTimeStepsEnoughAlsoWhereMessagesCostNothing) {
  PlanRequest request = request_of({{1, 8192, 8192}}, 2, 64);
  request.rates.memory = 27e9;
  request.rates.network.latency = 1e-7;
  EXPECT_GE(make_plan(request).halo_steps, 16)
      << "2 steps were measured to take twice as long as 32";
  request.blocks_time = false;
  EXPECT_LE(make_plan(request).halo_steps, 8)
      << "plain sweeps read all of memory every step anyway";
}

TEST(MakePlan, KeepsTheHaloWithinTheBoxes) {
  PlanRequest request = request_of({{1, 40, 20}}, 7);
  request.halo_steps = 1000;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.halo_steps, deepest(request.scheme, plan.grid));
  for (int d = 0; d < 3; ++d) {
    EXPECT_TRUE(plan.grid.parts[d] == 1 || plan.halo_steps <= plan.grid.shortest(d));
  }
  EXPECT_LE(make_plan(request_of({{1, 40, 20}}, 7, 3)).halo_steps, 3);
}

TEST(MakePlan, GivesBoxesBySpeedAndForecastsByIt) {
  PlanRequest request = request_of({{1, 1000, 300}}, 4);
  request.weights = {7e9, 1e9, 1e9, 1e9};
  request.halo_steps = 5;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.grid.of(0).size()[1], 700);
  EXPECT_EQ(plan.grid.of(3).size()[1], 100);
  EXPECT_LT(forecast(request, plan, 0).seconds, 1.2 * forecast(request, plan, 1).seconds);
  PlanRequest alike = request;
  alike.weights = {};
  EXPECT_EQ(make_plan(alike).grid.of(3).size()[1], 250);
  request.halo_steps = 1000;
  EXPECT_EQ(make_plan(request).halo_steps, 100) << "the thinnest box can give no more";
  request.ranks = 3;  // a plan for other ranks than were measured
  EXPECT_EQ(make_plan(request).grid.of(0).size()[1], 334);
}

TEST(MakePlan, RefusesGridsThatCannotBe) {
  PlanRequest request = request_of({{1, 40, 20}}, 4);
  request.parts = Index3{{1, 3, 2}};
  EXPECT_THROW((void)make_plan(request), Error);
  request.scheme.stencil = named_stencil("star4", 2);
  request.scheme.global = {{1, 40, 7}};
  request.parts = Index3{{1, 1, 2}};
  EXPECT_THROW((void)make_plan(request), Error);
  request.parts = Index3{{1, 3, 1}};
  EXPECT_EQ(make_plan(request).grid.active(), 3);
}

TEST(Forecast, CountsEachUpdateOfTheHaloAndNothingOnIdleRanks) {
  PlanRequest request = request_of({{1, 64, 64}}, 5, 10);
  request.parts = Index3{{1, 2, 2}};
  request.halo_steps = 4;
  const Plan plan = make_plan(request);
  const Forecast f = forecast(request, plan, 0);
  EXPECT_EQ(f.exchanges, 3);
  EXPECT_EQ(f.messages, 9);
  const auto halo = [](index_t depth) { return (32 + depth) * (32 + depth) - 32 * 32; };
  EXPECT_EQ(f.received_bytes, 8 * (2 * halo(4) + halo(2)));
  double updates = 0;
  for (const index_t depth : {3, 2, 1, 0, 3, 2, 1, 0, 1, 0})
    updates += static_cast<double>((32 + depth) * (32 + depth));
  EXPECT_EQ(f.updates, updates);
  EXPECT_EQ(forecast(request, plan, 4).memory(), 0);
  EXPECT_GT(f.seconds, 0);
}

}  // namespace
}  // namespace tessera::dist::stencil
