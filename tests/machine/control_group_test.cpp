#include "machine/control_group.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

namespace tessera::machine {
namespace {

constexpr index_t no_limit = std::numeric_limits<index_t>::max();

/// What is left on a machine of which these files are all.
index_t allowance(const std::map<std::string, std::string>& files) {
  const auto root = std::filesystem::path(testing::TempDir()) / ("control_group_" + std::to_string(getpid()));
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  }
  const index_t left = control_group_allowance(root.string());
  std::filesystem::remove_all(root);
  return left;
}

TEST(ControlGroup, LeavesWhatItsLimitAndItsParentsDo) {
  const std::string group = "proc/self/cgroup", at = "sys/fs/cgroup/";
  EXPECT_EQ(allowance({}), no_limit);
  EXPECT_EQ(allowance({{group, "0::/"}, {at + "memory.max", "max"}, {at + "memory.current", "5"}}), no_limit);
  EXPECT_EQ(allowance({{group, "0::/"}, {at + "memory.max", "1000"}, {at + "memory.current", "300"}}), 700);
  EXPECT_EQ(allowance({{group, "0::/"}, {at + "memory.max", "1000"}, {at + "memory.current", "1300"}}), 0);
  EXPECT_EQ(allowance({{group, "0::/job/step/task"},  // as Slurm does
                       {at + "job/memory.max", "1000"},
                       {at + "job/memory.current", "400"},
                       {at + "job/step/memory.max", "900"},
                       {at + "job/step/memory.current", "100"},
                       {at + "job/step/task/memory.max", "max"},
                       {at + "job/step/task/memory.current", "100"}}),
            600);
}

TEST(ControlGroup, CountsUnusedPagesOfFilesAsFree) {
  const std::string at = "sys/fs/cgroup/a/";
  EXPECT_EQ(allowance({{"proc/self/cgroup", "0::/a"},
                       {at + "memory.max", "1000"},
                       {at + "memory.current", "950"},
                       {at + "memory.stat", "anon 100\nfile 850\nactive_file 50\ninactive_file 800"}}),
            850);
}

TEST(ControlGroup, IsFoundInEitherVersionHoweverItIsCalled) {
  const std::string at = "sys/fs/cgroup/memory/";
  const std::map<std::string, std::string> first{
      {"proc/self/cgroup", "9:cpu,cpuacct:/memory\n3:memory:/docker/1"},  // seen from inside: the outermost
      {at + "memory.limit_in_bytes", "1000"},
      {at + "memory.usage_in_bytes", "500"},
      {at + "memory.stat", "inactive_file 7\ntotal_inactive_file 200"}};
  EXPECT_EQ(allowance(first), 700);
  EXPECT_EQ(control_group_path("0::/pods:cri:1"), "/pods:cri:1");
  EXPECT_EQ(control_group_path("3:cpu,memory:/"), "/");
  EXPECT_EQ(control_group_path("nothing"), "nothing");
  EXPECT_EQ(allowance({{"proc/self/cgroup", "0::/pods:cri:1\n0::no path"},
                       {"sys/fs/cgroup/pods:cri:1/memory.max", "1000"},
                       {"sys/fs/cgroup/pods:cri:1/memory.current", "1"}}),
            999);
}

}  // namespace
}  // namespace tessera::machine
