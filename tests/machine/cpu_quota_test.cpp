#include "machine/cpu_quota.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace tessera::machine {
namespace {

/// Returns the quota on a machine with these files only.
std::optional<double> quota(const std::map<std::string, std::string>& files) {
  const auto root =
      std::filesystem::path(testing::TempDir()) / ("cpu_quota_" + std::to_string(getpid()));
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  }
  const auto granted = cpu_quota(root.string());
  std::filesystem::remove_all(root);
  return granted;
}

TEST(CpuQuota, IsTheLeastOfTheGroupAndItsParents) {
  const std::string group = "proc/self/cgroup", at = "sys/fs/cgroup/";
  EXPECT_EQ(quota({}), std::nullopt);
  EXPECT_EQ(quota({{group, "0::/"}, {at + "cpu.max", "max 100000"}}), std::nullopt);
  EXPECT_EQ(quota({{group, "0::/"}, {at + "cpu.max", "150000 100000"}}), 1.5);
  EXPECT_EQ(quota({{group, "0::/a/b"},
                   {at + "a/cpu.max", "200000 100000"},
                   {at + "a/b/cpu.max", "max 100000"}}),
            2);
}

TEST(CpuQuota, IsReadInTheOlderVersion) {
  const std::string at = "sys/fs/cgroup/cpu/a/";
  EXPECT_EQ(quota({{"proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/a\n0::/"},
                   {at + "cpu.cfs_quota_us", "800000"},
                   {at + "cpu.cfs_period_us", "100000"}}),
            8);
  EXPECT_EQ(quota({{"proc/self/cgroup", "3:cpu:/a"},
                   {at + "cpu.cfs_quota_us", "-1"},
                   {at + "cpu.cfs_period_us", "100000"}}),
            std::nullopt);
}

TEST(BusyThreads, AreThoseThatTheQuotaFeeds) {
  EXPECT_EQ(busy_threads(64, 1, std::nullopt), 64);
  EXPECT_EQ(busy_threads(64, 1, 2.0), 2);
  EXPECT_EQ(busy_threads(64, 1, 2.9), 2);
  EXPECT_EQ(busy_threads(64, 4, 8.0), 2);
  EXPECT_EQ(busy_threads(64, 4, 0.5), 1);
  EXPECT_EQ(busy_threads(2, 1, 8.0), 2);
}

}  // namespace
}  // namespace tessera::machine
