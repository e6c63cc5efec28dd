#include "machine/work_span.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "machine/fork_join.hpp"

namespace tessera::machine {
namespace {

// Clock advanced by the computation only.
index_t now = 0;
index_t fake_clock() { return now; }
void spend(index_t nanoseconds) { now += nanoseconds; }

template <class F>
WorkSpan recorded(const F& f, index_t burden = 0) {
  return record(static_cast<double>(burden) * 1e-9, f, fake_clock);
}

void expect(const WorkSpan& found, double work, double span, double burdened, index_t forks) {
  EXPECT_DOUBLE_EQ(found.work, work * 1e-9);
  EXPECT_DOUBLE_EQ(found.span, span * 1e-9);
  EXPECT_DOUBLE_EQ(found.burdened_span, burdened * 1e-9);
  EXPECT_EQ(found.forks, forks);
}

TEST(WorkSpan, OfNothingIsNothing) {
  expect(recorded([] {}), 0, 0, 0, 0);
  EXPECT_EQ(recorded([] {}).parallelism(), 1);
  expect(recorded([] { fork_join([] {}, [] {}); }, 5), 0, 0, 5, 1);
}

TEST(WorkSpan, OfSerialCodeIsItsTime) {
  expect(recorded([] { spend(70); }, 9), 70, 70, 70, 0);
}

TEST(WorkSpan, OfOneForkTakesTheLongerSide) {
  const auto one = [](index_t left, index_t right) {
    return recorded(
        [=] {
          spend(10);
          fork_join([=] { spend(left); }, [=] { spend(right); });
          spend(5);
        },
        100);
  };
  expect(one(30, 20), 65, 45, 145, 1);
  expect(one(20, 30), 65, 45, 145, 1);
}

TEST(WorkSpan, DisturbancesOfDifferentStrandsDoNotAddUp) {
  // Each recording is disturbed by 1000 in another of four strands of 10.
  std::vector<double> strands;
  WorkSpan found;
  for (int disturbed = 0; disturbed < 2; ++disturbed) {
    const auto leaf = [&](int which) { spend(which == disturbed ? 1010 : 10); };
    const auto both = [&](int first) { fork_join([&] { leaf(first); }, [&] { leaf(first + 1); }); };
    found = record(
        0, [&] { fork_join([&] { both(0); }, [&] { both(2); }); }, fake_clock, &strands);
    if (disturbed == 0) expect(found, 1040, 1010, 1010, 3);
  }
  expect(found, 40, 10, 10, 3);
}

TEST(WorkSpan, BurdenCanChooseAnotherPathThanTheSpan) {
  // Left: 100 in one strand. Right: 60 = 20 + two forks of 20: shorter, but longer with two burdens
  // of 50.
  const auto right = [] {
    spend(20);
    fork_join([] { spend(20); }, [] { spend(20); });
    fork_join([] { spend(20); }, [] { spend(20); });
  };
  expect(recorded([&] { fork_join([] { spend(100); }, right); }, 50), 200, 100, 50 + 160, 3);
}

TEST(WorkSpan, OfABalancedTreeIsKnown) {
  // 2^d leaves of cost c, forks of cost 1: work = 2^d c + 2^d - 1, span = c + d.
  struct Tree {
    static void grow(int depth) {
      if (depth == 0) return spend(1000);
      spend(1);
      fork_join([=] { grow(depth - 1); }, [=] { grow(depth - 1); });
    }
  };
  for (const int depth : {0, 1, 5, 12}) {
    const double leaves = std::pow(2, depth);
    expect(recorded([=] { Tree::grow(depth); }, 7), leaves * 1000 + leaves - 1, 1000 + depth,
           1000 + 8.0 * depth, static_cast<index_t>(leaves) - 1);
  }
}

TEST(WorkSpan, OfAParallelLoopIsItsDeepestLeaf) {
  const auto loop = [](index_t n, index_t grain) {
    return recorded([=] {
      parallel_for(0, n, grain, [](index_t begin, index_t end) { spend(3 * (end - begin)); });
    });
  };
  expect(loop(0, 4), 0, 0, 0, 0);
  expect(loop(1, 4), 3, 3, 3, 0);
  expect(loop(1024, 1), 3072, 3, 3, 1023);
  expect(loop(1000, 8), 3000, 24, 24, 124);
}

TEST(WorkSpan, OfSerialAndParallelMergesGrowAsTheorySays) {
  struct Sort {
    static void serial_merge(index_t n) {
      if (n == 1) return spend(1);
      fork_join([=] { serial_merge(n / 2); }, [=] { serial_merge(n / 2); });
      spend(n);
    }
    static void merge(index_t n) {
      if (n <= 2) return spend(n);
      spend(static_cast<index_t>(std::log2(n)));  // a binary search
      fork_join([=] { merge(n / 2); }, [=] { merge(n / 2); });
    }
    static void parallel_merge(index_t n) {
      if (n == 1) return spend(1);
      fork_join([=] { parallel_merge(n / 2); }, [=] { parallel_merge(n / 2); });
      merge(n);
    }
  };
  double last = 0;
  for (int lg = 4; lg <= 16; ++lg) {
    const index_t n = index_t{1} << lg;
    const WorkSpan serial = recorded([=] { Sort::serial_merge(n); });
    // n (lg n + 1) over 2 n - 1.
    EXPECT_DOUBLE_EQ(serial.parallelism(),
                     static_cast<double>(n) * (lg + 1) / static_cast<double>(2 * n - 1));
    const WorkSpan forked = recorded([=] { Sort::parallel_merge(n); });
    const double ratio = forked.span * 1e9 / std::pow(lg, 3);
    if (lg > 8) {
      EXPECT_NEAR(ratio / last, 1, 0.15) << n;  // Theta(lg^3 n)
    }
    last = ratio;
  }
}

TEST(WorkSpan, ATeamIsPretendedAndIsOneOutside) {
  EXPECT_EQ(team(), 1);
  (void)recorded([] {
    EXPECT_EQ(team(), 1);
    parallel(64, [] {
      EXPECT_EQ(team(), 64);
      parallel(3, [] { EXPECT_EQ(team(), 64); });
      EXPECT_EQ(omp_get_num_threads(), 1);
    });
    EXPECT_EQ(team(), 1);
  });
  EXPECT_EQ(recorder(), nullptr);
  parallel(3, [] { EXPECT_EQ(team(), 3); });
}

TEST(WorkSpan, AnExceptionEndsTheRecording) {
  EXPECT_THROW((void)recorded([] { throw Error(ExitCode::io, "x"); }), Error);
  EXPECT_EQ(recorder(), nullptr);
}

TEST(WorkSpan, TheRealClockFindsTheWorkOfLongStrands) {
  const auto wait = [] {
    const index_t end = Recorder::steady_nanoseconds() + 2'000'000;
    while (Recorder::steady_nanoseconds() < end) {
    }
  };
  const WorkSpan found = record(0, [&] { fork_join(wait, wait); });
  EXPECT_GE(found.work, 3.9e-3);
  EXPECT_GE(found.span, 1.95e-3);
  EXPECT_LE(found.span, found.work);
}

TEST(SpeedupBounds, AreOneForOneProcessorOrNoWork) {
  EXPECT_EQ(speedup_bounds({}, 8, {}).upper, 1);
  EXPECT_EQ(speedup_bounds({1, 0.1, 0.1, 5}, 1, {}).lower, 1);
}

TEST(SpeedupBounds, MeetCilkviewsFormulaWithoutTaskCosts) {
  // A transpose of 2048 x 2048 with leaves of 64: parallelism 1024, burdened 160, at least 13.8
  // on 16.
  const SpeedupBounds bounds = speedup_bounds({160, 160.0 / 1024, 1, 1023}, 16, {});
  EXPECT_NEAR(bounds.lower, 13.8, 0.05);
  EXPECT_EQ(bounds.upper, 16);
  EXPECT_DOUBLE_EQ(speedup_bounds({10, 4, 4, 3}, 16, {}).upper, 2.5);
}

TEST(SpeedupBounds, KeepTheirOrder) {
  const TaskCosts costs{1e-6, 1e-6, 1e-5};
  for (const double span : {1e-6, 1e-3, 0.5, 1.0}) {
    for (const int processors : {2, 3, 16, 1000}) {
      const SpeedupBounds b = speedup_bounds({1, span, span + 1e-4, 1000}, processors, costs);
      EXPECT_GT(b.lower, 0);
      EXPECT_LE(b.lower, b.upper);
    }
  }
}

}  // namespace
}  // namespace tessera::machine
