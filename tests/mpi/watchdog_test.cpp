#include "mpi/watchdog.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/timer.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::mpi {
namespace {

using std::chrono::milliseconds;

/// Computes for a hundredth of the time, as a rank does that shares its core with a hundred
/// processes: about 1 ms in every tick of the watchdog.
void compute_slowly(double seconds) {
  for (Timer all; all.seconds() < seconds; std::this_thread::sleep_for(milliseconds(100)))
    for (Timer busy; busy.seconds() < 1e-3;) {
    }
}

class WatchdogDeath : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static constexpr int stalled = static_cast<int>(ExitCode::stalled);
};

TEST_F(WatchdogDeath, ARankThatComputesSlowlyMakesProgress) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(2);
        const Computing computing;
        compute_slowly(5);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(WatchdogDeath, ARankThatHangsInAKernelIsStalled) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(0.5);
        const Computing computing;
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      testing::ExitedWithCode(stalled), "no progress for 500 ms");
}

TEST_F(WatchdogDeath, ARankThatWaitsIsStalledHoweverMuchProcessorTimeItTakes) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(0.5);
        for (;;) std::this_thread::yield();
      },
      testing::ExitedWithCode(stalled), "no progress for 500 ms");
}

TEST_F(WatchdogDeath, BeatsAreProgress) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(1);
        for (Timer all; all.seconds() < 3; std::this_thread::sleep_for(milliseconds(10)))
          heartbeat();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera::mpi
