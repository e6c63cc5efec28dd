#include "run/contention_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "machine/fork_join.hpp"
#include "machine/load.hpp"

namespace tessera::run {
namespace {

constexpr std::chrono::milliseconds pause{20};

/// Returns the processor seconds that this process uses while its first thread sleeps after a
/// region of OpenMP: the median of several.
double spun_after_a_region() {
  std::vector<double> spun;
  for (int i = 0; i < 15; ++i) {
    machine::on_each_thread(2, [](int, int) {});
    const double before = machine::own_processor_seconds();
    std::this_thread::sleep_for(pause);
    spun.push_back(machine::own_processor_seconds() - before);
  }
  std::nth_element(spun.begin(), spun.begin() + 7, spun.end());
  return spun[7];
}

TEST(ContentionWatch, LetsThreadsOfATeamSleepSoon) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr ||
      std::getenv("KMP_BLOCKTIME") != nullptr)
    GTEST_SKIP() << "the environment says how threads wait";
  const ContentionWatch watch(2, true);
  EXPECT_TRUE(machine::is_contended());
  std::this_thread::sleep_for(10 * pause);  // the watch starts its threads
  EXPECT_LT(spun_after_a_region(), 2e-3);   // without contention about 13 ms
}

TEST(ContentionWatch, LeavesNothingBehind) {
  { const ContentionWatch watch(2, true); }
  EXPECT_FALSE(machine::is_contended());
  { const ContentionWatch watch(1, true); }
  EXPECT_FALSE(machine::is_contended());
}

}  // namespace
}  // namespace tessera::run
