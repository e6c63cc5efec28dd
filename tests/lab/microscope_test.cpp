#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "lab/forkjoin/programs.hpp"
#include "lab/forkjoin/replay.hpp"

namespace tessera::microscope {
namespace {

Computation recorded(std::string_view kernel, index_t n, index_t threshold,
                     Keep keep = Keep::totals) {
  return record(program(kernel).make, n, threshold, keep);
}

/// Occupies the processors while it lives.
class Load {
 public:
  Load() {
    for (int t = 0; t < 3; ++t) {
      threads_.emplace_back([this] {
        while (!stop_.load()) {
        }
      });
    }
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

TEST(Programs, AreTheProbes) {
  ASSERT_EQ(programs().size(), forkjoin::variants().size());
  for (std::size_t i = 0; i < programs().size(); ++i)
    EXPECT_EQ(programs()[i].kernel, forkjoin::variants()[i].name);
  EXPECT_THROW((void)program("fob"), Error);
}

TEST(Record, CountsTheSameInTwentyRunsUnderLoad) {
  const Load load;
  for (const Program& one : programs()) {
    const index_t n = one.sizes.front();
    const Computation first = record(one.make, n, one.threshold, Keep::totals);
    EXPECT_GT(first.work(), 0) << one.kernel;
    for (int run = 1; run < 20; ++run) {
      const Computation again = record(one.make, n, one.threshold, Keep::totals);
      ASSERT_EQ(again.work(), first.work()) << one.kernel;
      ASSERT_EQ(again.span, first.span) << one.kernel;
      ASSERT_EQ(again.strands.size(), first.strands.size()) << one.kernel;
    }
  }
}

TEST(Record, CountsAsTheDefinitionsSay) {
  // fib: an operation a call, a fork and a join for each that is not a leaf.
  const Computation fib = recorded("fib", 12, 1);
  EXPECT_EQ(fib.work(), 465 + 2 * 232);
  EXPECT_EQ(fib.span, 12 + 2 * 11);  // 11 forks on the way to fib(1)
  EXPECT_EQ(fib.forks.size(), 232u);
  // loops: a load and a store, 16 mixes a step; the first round loads nothing.
  const Computation loops = recorded("loops_parallel_outside", 10, 1);
  EXPECT_EQ(loops.work(), 4 * (10 * 18 - 1) + 3 * 2);
  EXPECT_EQ(loops.span, 179 + 4);
  // A product of 2 x 2 in one leaf: 8 multiply-adds of 3 accesses and 2 sums, 4 loads of a factor.
  const Computation product = recorded("matmul_iterative", 2, 2);
  EXPECT_EQ(product.loads, 8 * 2 + 4);
  EXPECT_EQ(product.stores, 8);
  EXPECT_EQ(product.arithmetic, 16);
  EXPECT_EQ(product.span, product.work());
}

TEST(Record, BuildsAGraphWhoseStrandsAddUp) {
  for (const Program& one : programs()) {
    for (const index_t n : {0, 1, 7, 33}) {
      const index_t size = one.kernel == "fib" ? std::min<index_t>(n, 12) : n;
      const Computation all = record(one.make, size, one.threshold, Keep::accesses);
      EXPECT_EQ(all.strands.size(), 3 * all.forks.size() + 1) << one.kernel;
      index_t work = 0, longest = 0, critical = 0, accesses = 0;
      for (std::size_t s = 0; s < all.strands.size(); ++s) {
        work += all.strands[s].operations;
        longest = std::max(longest, all.depths[s]);
        critical += all.critical[s] ? all.strands[s].operations : 0;
        accesses += all.accesses_of(static_cast<index_t>(s));
        EXPECT_LE(all.accesses_of(static_cast<index_t>(s)), all.strands[s].operations);
      }
      EXPECT_EQ(work, all.work()) << one.kernel << " " << n;
      EXPECT_EQ(longest, all.span) << one.kernel << " " << n;  // the Recorder's
      EXPECT_EQ(critical, all.span) << one.kernel << " " << n;
      EXPECT_EQ(accesses, all.loads + all.stores) << one.kernel << " " << n;
    }
  }
}

TEST(Fit, FindsThePowerOfAPower) {
  const std::vector<double> n{2, 4, 8, 16}, cubes{8, 64, 512, 4096};
  const GrowthFit found = fit(n, cubes, cubes);
  EXPECT_NEAR(found.power, 3, 1e-12);
  EXPECT_NEAR(found.theory, 3, 1e-12);
  EXPECT_NEAR(found.explained, 1, 1e-12);
}

TEST(Growth, IsThatOfTheory) {
  for (const Program& one : programs()) {
    std::vector<double> sizes, works, spans, work_theory, span_theory;
    for (const index_t n : one.sizes) {
      const Computation all = record(one.make, n, one.threshold, Keep::totals);
      sizes.push_back(one.scale(n));
      works.push_back(static_cast<double>(all.work()));
      spans.push_back(static_cast<double>(all.span));
      work_theory.push_back(one.variant().one.of(static_cast<double>(n)));
      span_theory.push_back(one.variant().infinite.of(static_cast<double>(n)));
    }
    const GrowthFit work = fit(sizes, works, work_theory), span = fit(sizes, spans, span_theory);
    EXPECT_NEAR(work.power, work.theory, 0.15) << one.kernel;
    // The constant terms of short leaves flatten powers of lg n.
    EXPECT_NEAR(span.power, span.theory, 0.25) << one.kernel;
    EXPECT_GT(work.explained, 0.995) << one.kernel;
    EXPECT_GT(span.explained, 0.97) << one.kernel;
  }
}

TEST(WorkStealing, RunsEveryStrandOnceInAnOrderOfTheGraph) {
  for (const char* kernel : {"fib", "mergesort_parallel_merge", "matmul_recursive", "bfs"}) {
    const Computation all = recorded(kernel, kernel == std::string("fib") ? 12 : 60, 5);
    for (const int workers : {1, 2, 3, 7, 64}) {
      const Schedule found = work_stealing(all, workers, 3);
      index_t busy = 0;
      for (const index_t b : found.busy) busy += b;
      EXPECT_EQ(busy, all.work()) << kernel;
      const auto end_of = [&](index_t strand) {
        const auto s = static_cast<std::size_t>(strand);
        return found.begin[s] + all.strands[s].operations;
      };
      for (std::size_t s = 0; s < all.strands.size(); ++s) {
        ASSERT_GE(found.worker[s], 0);
        const Strand& strand = all.strands[s];
        if (strand.end == Strand::End::finish) continue;
        const Fork& fork = all.forks[static_cast<std::size_t>(strand.fork)];
        const auto id = static_cast<index_t>(s);
        if (strand.end == Strand::End::fork) {
          EXPECT_EQ(found.begin[s + 1], end_of(id));
          EXPECT_GE(found.begin[static_cast<std::size_t>(fork.second)], end_of(id));
        } else {
          EXPECT_GE(found.begin[static_cast<std::size_t>(fork.after)], end_of(id));
        }
      }
    }
  }
}

TEST(WorkStealing, OneWorkerTakesTheWorkAndStealsNothing) {
  const Computation all = recorded("mergesort_serial_merge", 500, 30);
  const Schedule found = work_stealing(all, 1, 1);
  EXPECT_EQ(found.time, all.work());
  EXPECT_EQ(found.steals.size(), 0u);
  EXPECT_EQ(found.deviations, 0);
}

TEST(WorkStealing, IsTheSameForTheSameSeed) {
  const Computation all = recorded("fib", 16, 1);
  EXPECT_EQ(work_stealing(all, 5, 9).time, work_stealing(all, 5, 9).time);
  EXPECT_EQ(work_stealing(all, 5, 9).worker, work_stealing(all, 5, 9).worker);
  EXPECT_NE(work_stealing(all, 5, 9).worker, work_stealing(all, 5, 10).worker);
}

TEST(WorkStealing, KeepsTheBoundsOfBlumofeAndLeiserson) {
  for (const Program& one : programs()) {
    const Computation all = record(one.make, one.sizes[1], one.threshold, Keep::totals);
    for (const int workers : {2, 4, 8, 16, 61}) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Schedule found = work_stealing(all, workers, seed);
        EXPECT_GE(static_cast<double>(found.time), found.least(all)) << one.kernel;
        EXPECT_LE(found.excess(all), 4) << one.kernel << " on " << workers;
        const auto steals = static_cast<index_t>(found.steals.size());
        EXPECT_LE(steals, 4 * workers * all.span) << one.kernel;
        EXPECT_LE(found.deviations, 2 * steals) << one.kernel;
        EXPECT_GE(found.attempts, steals);
      }
    }
  }
}

Caches small_caches(index_t lines) {
  return {{.bytes = 64 * lines, .ways = 0}, {.bytes = index_t{1} << 20, .ways = 16}};
}

TEST(Replay, KeepsTheBoundOfAcarBlellochAndBlumofe) {
  for (const Program& one : programs()) {
    const index_t n = one.kernel == "fib" ? 12 : one.sizes.front();
    const Computation all = record(one.make, n, one.threshold, Keep::accesses);
    for (const index_t lines : {4, 16, 64}) {
      const Caches caches = small_caches(lines);
      const Traffic serial = replay(all, work_stealing(all, 1, 1), caches);
      EXPECT_EQ(serial.alone, serial.coherent.misses()) << one.kernel;
      EXPECT_EQ(serial.coherent.true_sharing + serial.coherent.false_sharing, 0);
      for (const int workers : {2, 5, 16}) {
        const Schedule schedule = work_stealing(all, workers, 1);
        const Traffic found = replay(all, schedule, caches);
        EXPECT_EQ(found.coherent.touches, all.loads + all.stores) << one.kernel;
        EXPECT_LE(found.alone, most_misses(serial.alone, schedule, caches.own))
            << one.kernel << " on " << workers << ", " << lines << " lines";
        EXPECT_LE(found.shared, found.coherent.misses());
      }
    }
  }
}

TEST(Replay, OfOneWorkerIsTheSerialStream) {
  const Computation all = recorded("scan", 64, 8, Keep::accesses);
  const Traffic found = replay(all, work_stealing(all, 1, 1), small_caches(64));
  EXPECT_EQ(found.coherent.cold, 8 + 1);  // 64 words, and a line of 8 sums of halves
  EXPECT_EQ(found.coherent.replaced, 0);
  EXPECT_EQ(found.shared, 9);
}

TEST(Replay, SharesFalselyWhereLeavesAreSmallerThanLines) {
  const Computation small = recorded("scan", 4096, 2, Keep::accesses);
  const Computation large = recorded("scan", 4096, 64, Keep::accesses);
  const auto false_sharing = [](const Computation& all) {
    return replay(all, work_stealing(all, 8, 1), small_caches(512)).coherent.false_sharing;
  };
  EXPECT_GT(false_sharing(small), 2 * false_sharing(large));
}

}  // namespace
}  // namespace tessera::microscope
