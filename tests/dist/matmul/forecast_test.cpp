// What a product takes, forecast without running it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "dist/matmul/multiply.hpp"
#include "dist/matmul/plan.hpp"

namespace tessera::dist::matmul {
namespace {

TEST(Forecast, CountsWhatIsSentAsReceivedByOthers) {
  for (const Algorithm algorithm : every_algorithm) {
    const ForecastRequest request{.m = 500, .n = 300, .k = 9000, .ranks = 4};
    const auto all = forecast(request, {.algorithm = algorithm, .grid = {0, 0}});
    double flops = 0;
    index_t sent = 0, received = 0;
    for (const Forecast& f : all) {
      flops += f.flops;
      sent += f.sent_bytes;
      received += f.received_bytes;
    }
    EXPECT_EQ(flops, 2.0 * 500 * 300 * 9000);
    if (algorithm == Algorithm::recursive) {
      EXPECT_EQ(sent, received);
    }
    EXPECT_GT(received, 0);
  }
}

TEST(WhatToShare, IsAllOrTheOperandThatTravels) {
  const auto of = [](const ForecastRequest& q) {
    const Seen seen = what_to_share(q, {});
    return std::string(seen.a ? "a" : "") + (seen.b ? "b" : "") + (seen.c ? "c" : "");
  };
  for (const index_t ranks : {2, 4, 7}) {
    EXPECT_EQ(of({.m = 4096, .n = 4096, .k = 4096, .ranks = ranks}), "abc");
    EXPECT_EQ(of({.m = 4096, .n = 4096, .k = 128, .ranks = ranks}), ranks < 7 ? "b" : "abc");
    EXPECT_EQ(of({.m = 131072, .n = 128, .k = 256, .ranks = ranks}), "b");
  }
  EXPECT_EQ(of({.m = 4096, .n = 4096, .k = 128, .ranks = 1}), "");
  EXPECT_EQ(of({.m = 4096, .n = 4096, .k = 128, .op_b = Op::transpose, .ranks = 4}), "b");
}

TEST(WhatToShare, SaysWithoutAPlanWhatThePlanWouldSay) {
  int without = 0;
  for (const auto& [m, n, k] : {std::array<index_t, 3>{200, 200, 200},
                                {4096, 4096, 128},
                                {131072, 128, 256},
                                {64, 64, 100000},
                                {1000, 10, 1000},
                                {10, 1000, 1000},
                                {333, 1777, 512}}) {
    for (const index_t ranks : {2, 3, 4, 7, 16}) {
      const ForecastRequest q{.m = m, .n = n, .k = k, .ranks = ranks};
      const auto all = forecast(q, {});
      const bool much = std::any_of(all.begin(), all.end(), [](const Forecast& f) {
        return std::max(f.received_bytes, f.sent_bytes) > f.home_bytes / 8;
      });
      const index_t before = plan_searches();
      EXPECT_EQ(what_to_share(q, {}).all(), much)
          << m << " x " << n << " x " << k << " on " << ranks;
      without += plan_searches() == before ? 1 : 0;
    }
  }
  EXPECT_GE(without, 5);
}

TEST(PlanProduct, SearchesOnceForAllThatIsAskedOfIt) {
  for (const bool inside : {false, true}) {
    ForecastRequest q{.m = 200, .n = 200, .k = 200, .ranks = 4, .inside = inside};
    const index_t before = plan_searches();
    if (!inside) q.seen = what_to_share(q, {});
    const ProductPlan planned = plan_product(q, {});
    EXPECT_EQ(planned.forecasts.size(), 4u);
    EXPECT_EQ(planned.plans.size(), 1u);
    (void)slices_that_pay(q, {}, planned);
    (void)exchange_time(q, {.slices = 2}, {}, planned);
    EXPECT_EQ(forecast(q, {.slices = 2}, planned).size(), 4u);
    EXPECT_EQ(plan_searches() - before, 1);
  }
}

TEST(PlanProduct, HasARoundEachAndNoneForSumma) {
  const ForecastRequest q{.m = 300, .n = 400, .k = 500, .ranks = 6};
  EXPECT_EQ(plan_product(q, {.rounds = 4}).plans.size(), 4u);
  const index_t before = plan_searches();
  EXPECT_TRUE(plan_product(q, {.algorithm = Algorithm::summa}).plans.empty());
  EXPECT_EQ(plan_searches(), before);
}

TEST(Forecast, OperandsThatAllSeeDoNotMove) {
  ForecastRequest q{.m = 4096, .n = 4096, .k = 128, .ranks = 4};
  const auto apart = forecast(q, {});
  q.seen.b = true;
  const auto seen = forecast(q, {});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_GT(apart[rank].received_bytes, 0);
    EXPECT_EQ(seen[rank].received_bytes, 0);
    EXPECT_EQ(seen[rank].home_bytes, apart[rank].home_bytes);
    EXPECT_EQ(apart[rank].work_bytes - seen[rank].work_bytes, 8 * 128 * 4096) << "the copy of B";
  }
}

TEST(Forecast, SharedMemoryMovesOnlySumsAlongASplitK) {
  index_t sent = 0;
  for (const Forecast& f :
       forecast({.m = 800, .n = 900, .k = 700, .ranks = 6, .seen = all_seen}, {})) {
    sent += f.sent_bytes;
    EXPECT_LT(f.work_bytes, 8 * 512 * (800 + 900));  // the kernel's packing buffers
  }
  EXPECT_EQ(sent, 0);
  for (const Forecast& f :
       forecast({.m = 8, .n = 8, .k = 131072, .ranks = 2, .seen = all_seen}, {}))
    sent += f.sent_bytes;
  EXPECT_EQ(sent, 8 * 8 * 8);  // half of either value
}

TEST(Forecast, FollowsTheWeights) {
  const ForecastRequest request{.m = 4096, .n = 4096, .k = 4096, .ranks = 4};
  const auto all = forecast(request, {.weights = {30, 1, 1, 1}});
  EXPECT_GT(all[0].flops, 20 * all[1].flops);
  EXPECT_EQ(forecast({.m = 64, .n = 64, .k = 64, .ranks = 2}, {.weights = {30, 1, 1, 1}}).size(),
            2U);
}

TEST(Forecast, OneRankMovesNothing) {
  const auto all = forecast({.m = 100, .n = 100, .k = 100, .ranks = 1}, {});
  EXPECT_EQ(all.front().received_bytes, 0);
  EXPECT_EQ(all.front().messages, 0);
  EXPECT_EQ(all.front().home_bytes, 3 * 100 * 100 * 8);
}

}  // namespace
}  // namespace tessera::dist::matmul
