// Pointer chases: their cycles; lines and teams: their costs are positive on any machine, however
// busy.

#include "kernels/memory/chase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/forkjoin/team_costs.hpp"
#include "kernels/memory/inverse_root.hpp"
#include "kernels/memory/line_traffic.hpp"
#include "kernels/memory/memory.hpp"
#include "machine/topology.hpp"

namespace tessera::memory {
namespace {

TEST(Chase, VisitsEveryElementOnceAndNoOtherWord) {
  for (const index_t stride : {8, 64, 192, 4096}) {
    for (const index_t count : {1, 2, 3, 17, 64, 257}) {
      const ChaseShape shape{count, stride};
      std::vector<std::uint64_t> words(static_cast<std::size_t>(shape.bytes() / 8 + 1), 0xabcdU);
      auto* const memory = reinterpret_cast<std::byte*>(words.data());
      link_cycle(memory, shape, 7);
      std::set<std::ptrdiff_t> places;
      const void* at = memory;
      for (index_t step = 0; step < count; ++step) {
        const auto place = static_cast<const std::byte*>(at) - memory;
        EXPECT_TRUE(places.insert(place).second) << place;
        ASSERT_GE(place, 0);
        ASSERT_LT(place, shape.bytes());
        EXPECT_EQ(place % stride, place / stride * 64 % stride);
        at = *static_cast<const void* const*>(at);
      }
      EXPECT_EQ(at, memory);
      std::size_t untouched = 0;
      for (const std::uint64_t word : words) untouched += word == 0xabcdU;
      EXPECT_EQ(untouched, words.size() - static_cast<std::size_t>(count));
    }
  }
}

TEST(Chase, FollowsAsManyLinksAsAsked) {
  const ChaseShape shape{101, 64};
  const machine::PagedMemory memory(shape.bytes(), machine::Pages::small);
  link_cycle(memory.data(), shape, 3);
  const void* slow = memory.data();
  for (index_t step = 0; step < 48; ++step) slow = *static_cast<const void* const*>(slow);
  EXPECT_EQ(follow(memory.data(), 48), slow);
  EXPECT_EQ(follow(memory.data(), 0), memory.data());
}

TEST(Chase, OrdersDependOnTheSeed) {
  const ChaseShape shape{64, 64};
  const machine::PagedMemory one(shape.bytes(), machine::Pages::small),
      other(shape.bytes(), machine::Pages::small);
  link_cycle(one.data(), shape, 1);
  link_cycle(other.data(), shape, 2);
  int different = 0;
  for (index_t step = 16; step <= 64; step += 16)
    different += static_cast<const std::byte*>(follow(one.data(), step)) - one.data() !=
                 static_cast<const std::byte*>(follow(other.data(), step)) - other.data();
  EXPECT_GT(different, 0);
}

TEST(PagedMemory, IsAlignedAndZeroAndSmallPagesStaySmall) {
  const machine::PagedMemory memory((index_t{4} << 20) + 1, machine::Pages::small);
  EXPECT_EQ(memory.size(), index_t{6} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 << 20), 0u);
  for (index_t i = 0; i < memory.size(); i += 512) {
    ASSERT_EQ(memory.data()[i], std::byte{0});
    memory.data()[i] = std::byte{1};
  }
  EXPECT_EQ(memory.huge_bytes(), 0);
  const machine::PagedMemory huge(index_t{4} << 20, machine::Pages::huge);
  for (index_t i = 0; i < huge.size(); i += 512) huge.data()[i] = std::byte{1};
  EXPECT_LE(huge.huge_bytes(), huge.size());
}

TEST(Costs, ArePositiveAndLeastNeverExceedsMedian) {
  const machine::PagedMemory memory(1 << 20, machine::Pages::small);
  const StepTime step = chase(memory, {1 << 14, 64});
  EXPECT_GT(step.least, 1e-11);
  EXPECT_LE(step.least, step.median);
  EXPECT_GT(cycle_seconds(), 5e-11);  // 20 GHz
  for (const auto update : {Update::add, Update::compare_exchange}) {
    for (const index_t apart : {0, 8, 128}) {
      const StepTime time = update_time(update, apart, 2);
      if (std::isnan(time.least)) continue;  // the threads never ran at once
      EXPECT_GT(time.least, 0);
      EXPECT_LE(time.least, time.median);
    }
  }
  const forkjoin::TeamCosts team = forkjoin::team_costs(2);
  EXPECT_GT(team.region, 0);
  EXPECT_GT(team.barrier, 0);
  for (const auto traffic : {Traffic::read, Traffic::write, Traffic::copy})
    for (const int threads : {1, 2}) EXPECT_GT(working_set_bandwidth(traffic, threads, 1 << 16), 0);
}

TEST(LineLatency, IsMeasuredBetweenTwoUnits) {
  const std::vector<int> units = machine::usable_units();
  if (units.size() < 2) GTEST_SKIP() << "one processing unit";
  const StepTime time = line_latency(units[0], units[1], 0.01);
  EXPECT_GT(time.least, 1e-10);
  EXPECT_LE(time.least, time.median);
  EXPECT_EQ(machine::usable_units(), units);  // this thread is bound nowhere
}

TEST(NumaNodes, HoldEveryUsableUnitOnce) {
  std::vector<int> units;
  const auto nodes = machine::numa_nodes();
  for (const machine::NumaNode& node : nodes) {
    units.insert(units.end(), node.units.begin(), node.units.end());
    EXPECT_TRUE(node.distances.empty() || node.distances.size() == nodes.size());
  }
  std::sort(units.begin(), units.end());
  EXPECT_EQ(units, machine::usable_units());
}

TEST(InverseRoots, FastOnesAreWithinTwoPerMille) {
  double worst = 0;
  for (const float base : {1e-30F, 1e-3F, 1.0F, 3.7e5F, 1e30F}) {
    for (int i = 0; i < 4000; ++i) {
      const float x = base * (1 + static_cast<float>(i) / 1000);
      const double error = std::abs(
          static_cast<double>(fast_inverse_root(x)) * std::sqrt(static_cast<double>(x)) - 1);
      worst = std::max(worst, error);
    }
  }
  EXPECT_LT(worst, 0.00176);
  EXPECT_GT(worst, 0.0016);  // one step of Newton
}

TEST(InverseRoots, HaveACostAndAnError) {
  const RootCost right = root_cost(Root::divide), fast = root_cost(Root::fast);
  EXPECT_GT(right.seconds, 0);
  EXPECT_GT(fast.seconds, 0);
  EXPECT_LT(right.error, 2e-7);
  EXPECT_GT(fast.error, 1e-3);
  EXPECT_LT(fast.error, 1.8e-3);
}

}  // namespace
}  // namespace tessera::memory
