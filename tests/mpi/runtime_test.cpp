#include "mpi/runtime.hpp"

#include <gtest/gtest.h>

#include "mpi/loaded.hpp"

namespace tessera::mpi {
namespace {

TEST(Version, IsNameAndNumberOfEveryLibrary) {
  EXPECT_EQ(version_in("Open MPI v4.1.4, package: Debian, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(version_in("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7"), "MPICH 4.0.2");
  EXPECT_EQ(version_in("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release"), "MVAPICH2 2.3.7");
  EXPECT_EQ(version_in("Intel(R) MPI Library 2021.18 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.18 for Linux* OS");
}

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
