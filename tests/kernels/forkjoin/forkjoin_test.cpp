#include <gtest/gtest.h>

#include <cmath>

#include "kernels/forkjoin/task_costs.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

const Variant& probe(std::string_view name) { return *find_variant(variants(), name); }

/// Returns the minimum of a few runs, by thread CPU time, which excludes other processes.
machine::WorkSpan recorded(std::string_view name, index_t n, index_t threshold) {
  const auto problem = probe(name).make(n, threshold);
  machine::WorkSpan found;
  for (int again = 0; again < 5; ++again) {
    problem->prepare();
    const auto one = machine::record(
        0, [&] { problem->run(); }, machine::Recorder::thread_nanoseconds);
    EXPECT_EQ(problem->mistakes(), 0) << name << " n " << n;
    found.work = again == 0 ? one.work : std::min(found.work, one.work);
    found.span = again == 0 ? one.span : std::min(found.span, one.span);
    found.forks = one.forks;
  }
  return found;
}

TEST(Probes, AreRightForEverySizeThresholdAndTeam) {
  for (const Variant& variant : variants()) {
    for (const index_t n : {0, 1, 2, 3, 7, 16, 23, 24, 25}) {
      for (const index_t threshold : {1, 2, 5, 100}) {
        const auto problem = variant.make(n, threshold);
        for (const int threads : {1, 2, 4}) {
          problem->prepare();
          machine::parallel(threads, [&] { problem->run(); });
          ASSERT_EQ(problem->mistakes(), 0)
              << variant.name << " n " << n << " threshold " << threshold;
        }
      }
    }
  }
}

TEST(Probes, SortManyKeysOnATeam) {
  for (const char* name : {"quicksort", "mergesort_serial_merge", "mergesort_parallel_merge"}) {
    const auto problem = probe(name).make(100'003, 100);
    for (int again = 0; again < 3; ++again) {
      problem->prepare();
      machine::parallel(4, [&] { problem->run(); });
      EXPECT_EQ(problem->mistakes(), 0) << name;
    }
  }
}

TEST(Probes, NoticeAResultThatIsNotThere) {
  for (const Variant& variant : variants())
    EXPECT_GT(variant.make(20, 1)->mistakes(), 0) << variant.name;
}

TEST(Probes, AreRightBeyondASingleLeafOnATeam) {
  for (const Variant& variant : variants()) {
    const bool is_edge = variant.size == "edge";
    const index_t n = variant.name == "fib" ? 20 : is_edge ? 131 : 5003;
    const auto problem = variant.make(n, is_edge ? 7 : 50);
    for (int again = 0; again < 3; ++again) {
      problem->prepare();
      machine::parallel(4, [&] { problem->run(); });
      EXPECT_EQ(problem->mistakes(), 0) << variant.name;
    }
  }
}

TEST(Fibonacci, IsKnown) {
  EXPECT_EQ(fibonacci(0), 0u);
  EXPECT_EQ(fibonacci(1), 1u);
  EXPECT_EQ(fibonacci(10), 55u);
  EXPECT_EQ(fibonacci(93), 12200160415121876738u);
}

TEST(Fib, ForksOnceForEveryCallAboveTheThreshold) {
  // Calls of fib(n) with n > t: F(n - t + 2) - 1 for t >= 1.
  for (const index_t n : {2, 5, 12, 20}) {
    for (const index_t threshold : {1, 3, 8}) {
      const auto calls = n > threshold ? static_cast<index_t>(fibonacci(n - threshold + 2)) - 1 : 0;
      EXPECT_EQ(recorded("fib", n, threshold).forks, calls) << n << " " << threshold;
    }
  }
}

TEST(Loops, ForkThreeTimesARoundInsideAndThreeTimesOutside) {
  EXPECT_EQ(recorded("loops_parallel_inside", 1000, 1).forks, 3000);
  EXPECT_EQ(recorded("loops_parallel_outside", 1000, 1).forks, 3);
  EXPECT_NEAR(recorded("loops_parallel_outside", 200'000, 1).parallelism(), 4, 0.5);
}

TEST(Loops, BurdenTakesTheParallelismOfTheInnerLoopButNotOfTheOuter) {
  const auto burdened = [](const char* name) {
    const auto problem = probe(name).make(20'000, 1);
    return machine::record(
               1e-6, [&] { problem->run(); }, machine::Recorder::thread_nanoseconds)
        .burdened_parallelism();
  };
  const double outside = burdened("loops_parallel_outside");
  EXPECT_GT(outside, 1);
  EXPECT_LT(burdened("loops_parallel_inside"),
            outside / 3);  // tasks do more work in unoptimised builds
}

TEST(Matmul, ForksAsTheRecursionSays) {
  // A cube is split along m, n (3 forks) and k (none): 8 cubes of half the edge.
  EXPECT_EQ(recorded("matmul_recursive", 64, 64).forks, 0);
  EXPECT_EQ(recorded("matmul_recursive", 64, 32).forks, 3);
  EXPECT_EQ(recorded("matmul_recursive", 64, 16).forks, 3 + 8 * 3);
  EXPECT_EQ(recorded("matmul_iterative", 64, 8).forks, 7);
}

TEST(Mergesort, ParallelismGrowsLikeLgNWithASerialMergeAndFasterWithAForkedOne) {
  const auto growth = [](const char* name) {
    return recorded(name, 1 << 19, 4096).parallelism() /
           recorded(name, 1 << 15, 4096).parallelism();
  };
  const double serial = growth("mergesort_serial_merge"),
               forked = growth("mergesort_parallel_merge");
  EXPECT_GT(serial, 1.1);
  EXPECT_LT(serial, 3);  // 4 doublings add half a unit each to 2.6
  EXPECT_GT(forked, 2 * serial);
}

TEST(TaskCosts, AreTimes) {
  for (const int threads : {1, 2}) {
    const machine::TaskCosts costs = task_costs(threads);
    EXPECT_GE(costs.fork, 0);  // below the clock's resolution if no task is made
    EXPECT_LT(costs.fork, 1e-3);
    EXPECT_GE(costs.join, 0);
    EXPECT_EQ(costs.steal > 0, threads > 1);
    EXPECT_LE(costs.steal, 2 * steal_patience);
  }
}

}  // namespace
}  // namespace tessera::forkjoin
