#include "machine/contention.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <cmath>

#include "base/timer.hpp"

namespace tessera::machine {
namespace {

/// Scope guard: contention as given, without it afterwards.
struct Contended {
  explicit Contended(bool value) { set_contended(value); }
  ~Contended() { set_contended(false); }
  Contended(const Contended&) = delete;
  Contended& operator=(const Contended&) = delete;
};

/// Threads of OpenMP that another test has started may spin.
double seconds_of_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(Overcommitment, IsMoreThreadsThanUnitsOrQuota) {
  EXPECT_TRUE(is_overcommitted({.on_units = 6, .on_host = 6}, 2, {}));
  EXPECT_FALSE(is_overcommitted({.on_units = 8, .on_host = 8}, 8, {}));
  EXPECT_FALSE(is_overcommitted({.on_units = 1, .on_host = 4}, 1, {})) << "bound ranks";
  EXPECT_TRUE(is_overcommitted({.on_units = 2, .on_host = 2}, 2, 1.5)) << "quota below the mask";
  EXPECT_TRUE(is_overcommitted({.on_units = 1, .on_host = 4}, 1, 2.0)) << "one quota for all ranks";
  EXPECT_FALSE(is_overcommitted({.on_units = 2, .on_host = 2}, 2, 2.0));
  EXPECT_FALSE(is_overcommitted({.on_units = 4, .on_host = 4}, 0, {})) << "units unknown";
}

TEST(ContentionJudge, IsQuickToSeeContentionAndSlowToForgetIt) {
  ContentionJudge judge;
  EXPECT_FALSE(judge.judge(0.004, 0.1));
  EXPECT_TRUE(judge.judge(0.006, 0.1));
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(judge.judge(0, 0.1)) << i;
  EXPECT_TRUE(judge.judge(0.05, 0.1)) << "begins the quiet second again";
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(judge.judge(0, 0.1)) << i;
  judge.judge(0, 0.15);
  EXPECT_FALSE(judge.is_contended());
}

TEST(ContentionJudge, BeginsWithTheStartOfTheProcess) {
  EXPECT_TRUE(ContentionJudge(0.03, 0.04).is_contended());
  EXPECT_FALSE(ContentionJudge(0.01, 0.04).is_contended());
}

TEST(ContentionJudge, SeesNoneWhereTheSystemReportsNothing) {
  EXPECT_FALSE(ContentionJudge(NAN, 0.04).is_contended());
  EXPECT_FALSE(ContentionJudge().judge(NAN, 0.1));
}

TEST(Patience, SleepsUnderContention) {
  const Contended contended(true);
  Patience patience;
  const double before = seconds_of_this_thread();
  for (const Timer timer; timer.seconds() < 0.2;) patience.wait();
  EXPECT_LT(seconds_of_this_thread() - before, 0.1);
}

TEST(Patience, ReturnsAtOnceAtFirst) {
  const Contended contended(true);
  Timer timer;
  double least = 1;  // the shortest of several: others may take the core
  for (int i = 0; i < 100; ++i) {
    timer.restart();
    Patience().wait();
    least = std::min(least, timer.seconds());
  }
  EXPECT_LT(least, 20e-6);
}

}  // namespace
}  // namespace tessera::machine
