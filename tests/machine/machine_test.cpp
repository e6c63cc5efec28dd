#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/timer.hpp"
#include "machine/depth_first.hpp"
#include "machine/fork_join.hpp"
#include "machine/isa.hpp"

namespace tessera::machine {
namespace {

struct Range {
  int begin, end;
};

/// Marks every index of a range by halving it, with the second halves deferred.
template <class Mark>
void halve_and_mark(Range all, const Mark& mark) {
  depth_first(all, [&](Range here, auto& rest) {
    while (here.end - here.begin > 1) {
      const int middle = (here.begin + here.end) / 2;
      rest.put({middle, here.end});
      here.end = middle;
    }
    const std::optional<Range> next = rest.next();
    mark(here.begin, next ? next->begin : -1);
  });
}

TEST(DepthFirst, VisitsEveryIndexOnceOnAnyTeam) {
  for (const int threads : {1, 2, 3, 7}) {
    std::vector<std::atomic<int>> seen(1000);
    parallel(threads, [&] {
      halve_and_mark({0, 1000}, [&](int i, int) { ++seen[static_cast<std::size_t>(i)]; });
    });
    for (const auto& n : seen) ASSERT_EQ(n, 1) << threads << " threads";
  }
}

TEST(DepthFirst, OneThreadGoesInOrderAndKnowsWhatComesNext) {
  std::vector<int> order, next;
  halve_and_mark({0, 100}, [&](int i, int after) {
    order.push_back(i);
    next.push_back(after);
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(next[static_cast<std::size_t>(i)], i < 99 ? i + 1 : -1);
  }
}

TEST(DepthFirst, WhoHasNothingTakesTheOldest) {
  std::atomic<int> taken_second{-1};
  parallel(2, [&] {
    depth_first(Range{0, 4}, [&](Range here, auto& rest) {
      if (here.end - here.begin == 4) {
        rest.put({2, 4});
        rest.put({1, 2});
        while (taken_second < 0) std::this_thread::yield();
      } else {
        int nobody = -1;
        taken_second.compare_exchange_strong(nobody, here.begin);
      }
    });
  });
  EXPECT_EQ(taken_second, 2);
}

TEST(ForkJoin, VisitsEveryIndexOnce) {
  std::vector<int> seen(1001, 0);
  parallel(4, [&] {
    parallel_for(0, 1001, 7, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1001);
}

TEST(ForkJoin, SharesLoopsOutAgainAndAgain) {
  constexpr index_t n = 5000;
  std::vector<index_t> values(n, 0);
  for (const int threads : {2, 3, 7}) {
    parallel(threads, [&] {
      for (int loop = 0; loop < 200; ++loop) {
        parallel_for(0, n, 1 + loop, [&](index_t begin, index_t end) {
          ASSERT_LE(end - begin, 1 + loop);
          for (index_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += i;
        });
      }
    });
  }
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 600 * i);
}

TEST(ForkJoin, LoopsDoNotWaitForThreadsThatAreLate) {
  Crew crew(1);
  std::vector<int> who;
  crew.run([&](int thread) { who.push_back(thread); });  // no other thread serves yet
  EXPECT_EQ(who, std::vector<int>{0});
  std::thread late([&] { crew.serve(1); });
  std::atomic<int> came = 0, done = 0;
  while (came < 2) {
    came = done = 0;
    crew.run([&](int thread) {
      ++came;
      std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 5));
      ++done;
    });
    ASSERT_EQ(done, came);  // run() waits for every participant
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the other thread sleeps, too
  std::atomic<bool> woken = false;
  crew.run([&](int thread) {
    if (thread == 1) woken = true;
    for (const Timer timer; !woken && timer.seconds() < 10;) std::this_thread::yield();
  });
  EXPECT_TRUE(woken);
  crew.close();
  late.join();
  EXPECT_FALSE(crew.is_free(0, 1));
}

TEST(ForkJoin, ACrewLivesAsLongAsItsRegion) {
  Crew* inside = nullptr;
  parallel(2, [&] {
    inside = Crew::of_this_thread();
    parallel(3, [&] { EXPECT_EQ(Crew::of_this_thread(), inside); });
  });
  EXPECT_NE(inside, nullptr);
  EXPECT_EQ(Crew::of_this_thread(), nullptr);
}

TEST(ForkJoin, LoopsThatForkAndLoopsAfterForksVisitAllOnce) {
  constexpr index_t n = 300;
  std::vector<std::atomic<int>> seen(n);
  const auto visit = [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  };
  parallel(4, [&] {
    parallel_for(0, n, 10,
                 [&](index_t begin, index_t end) {  // on a crew, until the first piece forks
                   fork_for(begin, end, 3, visit);
                   parallel_for(begin, end, 2, visit);
                 });
    fork_join([&] { visit(0, n / 2); }, [&] { visit(n / 2, n); });
    parallel_for(0, n, 7, visit);  // as tasks
    gather([&] {
      for (index_t i = 0; i < n; ++i) leave([&visit, i] { visit(i, i + 1); }, [] {});
    });
  });
  for (const auto& count : seen) EXPECT_EQ(count, 5);
}

TEST(ForkJoin, WorksOutsideAnyRegionAndInsideTheCallersOwn) {
  std::atomic<int> sum = 0;
  fork_join([&] { sum += 1; }, [&] { sum += 2; });
  EXPECT_EQ(sum, 3);
  on_each_thread(3, [&](int, int) {
    parallel(2, [&] { fork_join([&] { sum += 10; }, [&] { sum += 10; }); });
  });
  EXPECT_EQ(sum, 63);
}

TEST(ForkJoin, ARegionOfTheCallersInsideHasLoopsOnItsOwnThreads) {
  std::atomic<int> others = 0;
  parallel(3, [&] {
    on_each_thread(1, [&](int, int) {
      const int threads = team();
      parallel_for(0, 100, 1, [&](index_t, index_t) {
        if (omp_get_thread_num() >= threads) ++others;
        std::this_thread::yield();  // to other threads, if any take part
      });
    });
  });
  EXPECT_EQ(others, 0);
}

/// Expects that each part of a call runs once and that all calls agree on the number of parts.
void expect_parts_once(int threads, int want) {
  std::vector<int> seen(static_cast<std::size_t>(want), 0);
  std::atomic<bool> agreed = true;
  parallel_parts(threads, [&](int part, int parts) {
    if (parts == want)
      ++seen[static_cast<std::size_t>(part)];
    else
      agreed = false;
  });
  EXPECT_TRUE(agreed);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), want);
}

TEST(ForkJoin, FillsArraysOfAnySizeByAnyThreads) {
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t count : {0U, 1U, 6U, 1000U, 300'001U}) {
      std::vector<double> with_sentinels(count + 2, 1.0);
      parallel_fill(threads, std::span(with_sentinels).subspan(1, count), 2.0);
      EXPECT_EQ(with_sentinels.front(), 1.0);
      EXPECT_EQ(with_sentinels.back(), 1.0);
      EXPECT_EQ(std::count(with_sentinels.begin(), with_sentinels.end(), 2.0),
                static_cast<std::ptrdiff_t>(count));
    }
  }
}

TEST(ForkJoin, RunsEveryPartOnce) {
  expect_parts_once(1, 1);
  expect_parts_once(3, 3);
  parallel(2, [] { expect_parts_once(5, 2); });  // limited to the existing team
  EXPECT_EQ(record(0, [] { expect_parts_once(4, 4); }).forks, 3);
  std::set<int> threads;
  for (int call = 0; call < 20; ++call)
    parallel_parts(2, [&](int part, int) {
      if (part == 1) threads.insert(omp_get_thread_num());
    });
  EXPECT_EQ(threads, std::set<int>{1});
}

TEST(ForkJoin, AWaitInsideOneSideIsNotForTheOther) {
  std::atomic<bool> joined_inside = false, seen = false;
  parallel(2, [&] {
    fork_join(
        [&] {
          const Timer timer;
          while (!joined_inside && timer.seconds() < 10) std::this_thread::yield();
          seen = joined_inside.load();
        },
        [&] {
          fork_join([] {}, [] {});
          joined_inside = true;
        });
  });
  EXPECT_TRUE(seen);
}

TEST(ForkJoin, CarriesTheExceptionOutOfTheRegion) {
  const auto fails = [] { throw Error(ExitCode::io, "x"); };
  EXPECT_THROW(parallel(2, fails), Error);
  EXPECT_THROW(parallel(3,
                        [&] {
                          parallel_for(0, 100, 1,
                                       [&](index_t i, index_t) { i == 99 ? fails() : void(); });
                        }),
               Error);
  EXPECT_THROW(on_each_thread(2, [&](int, int) { fails(); }), Error);
  EXPECT_THROW(parallel_parts(2, [&](int part, int) { return part == 1 ? fails() : void(); }),
               Error);
}

TEST(ForkJoin, CarriesTheExceptionOutOfATaskOnceTheOtherSideIsDone) {
  const auto fails = [] { throw Error(ExitCode::io, "x"); };
  for (const bool on_left : {true, false}) {
    std::atomic<bool> other = false;
    const auto works = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      other = true;
    };
    const auto forks = [&] { on_left ? fork_join(fails, works) : fork_join(works, fails); };
    EXPECT_THROW(parallel(2, [&] { fork_join(forks, [] {}); }), Error);
    EXPECT_TRUE(other);
  }
}

TEST(Isa, IsOneThatTheProcessorHas) {
  EXPECT_TRUE(supports(isa()));
  EXPECT_TRUE(supports(Isa::baseline));
  EXPECT_EQ(isa_names()[0], "baseline");
  EXPECT_EQ(std::count(isa_names().begin(), isa_names().end(), name(isa())), 1);
}

TEST(Isa, NamesTheOneOfThree) {
  EXPECT_EQ(of_isa(Isa::baseline, 1, 2, 3), 1);
  EXPECT_EQ(of_isa(Isa::bits256, 1, 2, 3), 2);
  EXPECT_EQ(of_isa(Isa::bits512, 1, 2, 3), 3);
}

}  // namespace
}  // namespace tessera::machine
