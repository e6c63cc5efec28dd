#include "mpi/runtime.hpp"

#include <gtest/gtest.h>

namespace tessera::mpi {
namespace {

TEST(RuntimeDeath, AProcessWithoutALauncherFailsWithOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Runtime runtime(nullptr, nullptr);
        die(ExitCode::memory, "a thread cannot start");
      },
      testing::ExitedWithCode(static_cast<int>(ExitCode::memory)),
      "^tessera: error: a thread cannot start [(]rank 0 of 1 on [^\n]*[)]\n$");
}

}  // namespace
}  // namespace tessera::mpi
