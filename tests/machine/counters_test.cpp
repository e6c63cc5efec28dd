#include "machine/counters.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cmath>

#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/waiting.hpp"

namespace tessera::machine {
namespace {

constexpr index_t page = 4096;

/// Software event, available in virtual machines too.
const std::vector<CounterEvent> page_faults{
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};

TEST(Counters, CountWhatThisThreadAndItsTeamDo) {
  const Counters counters(page_faults);
  if (!counters.any()) GTEST_SKIP() << counters.reason();
  EXPECT_EQ(counters.reason(), "");
  const double before = counters.read().front().value;
  constexpr index_t pages = 100;  // too few for huge pages
  std::vector<Buffer<char>> buffers;
  for (int thread = 0; thread < 3; ++thread) buffers.emplace_back(pages * page);
  on_each_thread(3, [&](int thread, int) {
    auto& mine = buffers[static_cast<std::size_t>(thread)];
    for (index_t i = 0; i < mine.size(); i += page) mine[i] = 1;
  });
  EXPECT_GE(counters.read().front().value - before,
            2.0 * pages);  // some pages may have been touched before
}

TEST(Counters, AnEventThatIsNotThereIsNotANumberAndSaysWhy) {
  const Counters counters({{"nonsense", 4711, 1}});
  EXPECT_FALSE(counters.any());
  EXPECT_NE(counters.reason(), "");
  EXPECT_TRUE(std::isnan(counters.read().front().value));
}

TEST(Counters, OneMissingEventDoesNotHideTheOthers) {
  const Counters counters({{"nonsense", 4711, 1}, page_faults.front()});
  if (!counters.any()) GTEST_SKIP() << counters.reason();
  EXPECT_TRUE(std::isnan(counters.read()[0].value));
  EXPECT_FALSE(std::isnan(counters.read()[1].value));
}

TEST(Counters, OfTheProcessorHaveNamesOfTheirOwn) {
  const auto events = processor_events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events[0].name, "cycles");
  EXPECT_EQ(events[1].name, "instructions");
}

TEST(Counters, KnowEveryCountOfTheUsualProcessors) {
  const auto config = [](const char* maker, int family, bool wide, const std::string& name) {
    std::uint64_t found = 0;
    for (const CounterEvent& event : processor_events(maker, family, wide))
      found = event.name == name ? event.config : found;
    return found;
  };
  for (const char* name : {"instructions", "l2_misses", "llc_misses", "vector_instructions"}) {
    EXPECT_NE(config("AuthenticAMD", 0x1a, true, name), 0u) << name;
    EXPECT_NE(config("AuthenticAMD", 0x17, false, name), 0u) << name;
    EXPECT_NE(config("GenuineIntel", 6, true, name), 0u) << name;
  }
  EXPECT_EQ(config("AuthenticAMD", 0x19, true, "vector_instructions"), 0x3808u)
      << "zen 4: packed alone";
  EXPECT_EQ(config("AuthenticAMD", 0x19, false, "vector_instructions"), 0x04cbu) << "zen 3";
  EXPECT_EQ(config("somebody", 1, false, "vector_instructions"), 0u);
}

TEST(Waiting, NeverFalls) {
  const double before = seconds_waited();
  if (std::isnan(before)) GTEST_SKIP() << "no /proc/self/task/*/schedstat";
  EXPECT_GE(before, 0);
  EXPECT_GE(seconds_waited(), before);
}

}  // namespace
}  // namespace tessera::machine
