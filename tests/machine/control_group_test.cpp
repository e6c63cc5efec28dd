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

/// Returns the memory of the group on a machine with these files only.
GroupMemory memory(const std::map<std::string, std::string>& files) {
  const auto root =
      std::filesystem::path(testing::TempDir()) / ("control_group_" + std::to_string(getpid()));
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << '\n';
  }
  const GroupMemory found = control_group_memory(root.string());
  std::filesystem::remove_all(root);
  return found;
}

index_t allowance(const std::map<std::string, std::string>& files) { return memory(files).left; }

TEST(ControlGroup, LeavesWhatItsLimitAndItsParentsDo) {
  const std::string group = "proc/self/cgroup", at = "sys/fs/cgroup/";
  EXPECT_EQ(allowance({}), no_limit);
  EXPECT_EQ(allowance({{group, "0::/"}, {at + "memory.max", "max"}, {at + "memory.current", "5"}}),
            no_limit);
  EXPECT_EQ(
      allowance({{group, "0::/"}, {at + "memory.max", "1000"}, {at + "memory.current", "300"}}),
      700);
  EXPECT_EQ(
      allowance({{group, "0::/"}, {at + "memory.max", "1000"}, {at + "memory.current", "1300"}}),
      0);
  EXPECT_EQ(allowance({{group, "0::/job/step/task"},  // Slurm's layout
                       {at + "job/memory.max", "1000"},
                       {at + "job/memory.current", "400"},
                       {at + "job/step/memory.max", "900"},
                       {at + "job/step/memory.current", "100"},
                       {at + "job/step/task/memory.max", "max"},
                       {at + "job/step/task/memory.current", "100"}}),
            600);
}

TEST(ControlGroup, CountsAsFreeWhatTheKernelTakesBack) {
  const std::string at = "sys/fs/cgroup/a/";
  const auto left = [&](const std::string& statistics) {
    return allowance({{"proc/self/cgroup", "0::/a"},
                      {at + "memory.max", "1000"},
                      {at + "memory.current", "950"},
                      {at + "memory.stat", statistics}});
  };
  EXPECT_EQ(left("anon 100\nfile 850\nactive_file 0\ninactive_file 800"), 850);
  EXPECT_EQ(left("anon 100\nfile 850\nactive_file 800\ninactive_file 0"),
            850);  // a warm cache, read twice
  EXPECT_EQ(left("active_file 300\ninactive_file 200\nslab_reclaimable 40\nslab_unreclaimable 60"),
            590);
  EXPECT_EQ(left("shmem 90\nfile_mapped 290\nactive_file 300\ninactive_file 200"),
            350);  // mapped pages of programs stay
  EXPECT_EQ(left("shmem 90\nfile_mapped 50\nactive_file 300\ninactive_file 200"), 550);
  EXPECT_EQ(left("file_mapped 700\nactive_file 300\ninactive_file 200"), 50);
}

TEST(ControlGroup, HoldsForTheTightestOfNestedGroups) {
  const std::string first = "sys/fs/cgroup/memory/", second = "sys/fs/cgroup/";
  const auto v1 = [&](const std::string& inner_limit, const std::string& outer_files) {
    return allowance(
        {{"proc/self/cgroup", "4:memory:/outer/inner\n0::/"},
         {first + "outer/memory.limit_in_bytes", "1000"},
         {first + "outer/memory.usage_in_bytes", "900"},
         {first + "outer/memory.stat", "active_file 1\n" + outer_files},
         {first + "outer/inner/memory.limit_in_bytes", inner_limit},
         {first + "outer/inner/memory.usage_in_bytes", "500"},
         {first + "outer/inner/memory.stat", "total_active_file 100\ntotal_inactive_file 50"},
         {first + "memory.limit_in_bytes", "9223372036854771712"},
         {first + "memory.usage_in_bytes", "2000"}});
  };
  EXPECT_EQ(v1("9223372036854771712", "total_active_file 200\ntotal_inactive_file 30"), 330);
  EXPECT_EQ(v1("600", "total_active_file 200\ntotal_inactive_file 30"), 250);
  EXPECT_EQ(v1("600", "total_active_file 20\ntotal_mapped_file 10\ntotal_shmem 5"), 115);
  EXPECT_EQ(allowance({{"proc/self/cgroup", "0::/outer/inner"},
                       {second + "outer/memory.max", "1000"},
                       {second + "outer/memory.current", "900"},
                       {second + "outer/memory.stat", "active_file 200\nslab_reclaimable 50"},
                       {second + "outer/inner/memory.max", "max"},
                       {second + "outer/inner/memory.current", "500"}}),
            350);
}

TEST(ControlGroup, CountsThePagesThatAreNotOnTheDevice) {
  const std::string first = "sys/fs/cgroup/memory/a/", second = "sys/fs/cgroup/";
  EXPECT_EQ(memory({}).unwritten, 0);
  const GroupMemory old =
      memory({{"proc/self/cgroup", "4:memory:/a"},
              {first + "memory.limit_in_bytes", "1000"},
              {first + "memory.usage_in_bytes", "900"},
              {first + "memory.stat",
               "dirty 1\ntotal_active_file 200\ntotal_dirty 30\ntotal_writeback 5"}});
  EXPECT_EQ(old.left, 300);
  EXPECT_EQ(old.unwritten, 35);
  const GroupMemory tightest =
      memory({{"proc/self/cgroup", "0::/outer/inner"},
              {second + "outer/memory.max", "1000"},
              {second + "outer/memory.current", "900"},
              {second + "outer/memory.stat", "active_file 200\nfile_dirty 7\nfile_writeback 80"},
              {second + "outer/inner/memory.max", "900"},
              {second + "outer/inner/memory.current", "100"},
              {second + "outer/inner/memory.stat", "file_dirty 1\nfile_writeback 1"}});
  EXPECT_EQ(tightest.left, 300);
  EXPECT_EQ(tightest.unwritten, 87);
}

TEST(ControlGroup, IsFoundInEitherVersionHoweverItIsCalled) {
  const std::string at = "sys/fs/cgroup/memory/";
  const std::map<std::string, std::string> first{
      {"proc/self/cgroup",
       "9:cpu,cpuacct:/memory\n3:memory:/docker/1"},  // inside a container: the root group
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
