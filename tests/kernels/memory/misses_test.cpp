#include "kernels/memory/misses.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace tessera::memory {
namespace {

const ProbeVariant& row(std::string_view name) { return *find_variant(probes(), name); }

struct Seen final : Touches {
  struct Touch {
    int thread;
    What what;
    std::uint64_t address;
  };
  void touch(int thread, What what, std::uint64_t address, unsigned bytes) override {
    EXPECT_EQ(bytes, 8u);
    all.push_back({thread, what, address});
  }
  [[nodiscard]] index_t count(What what) const {
    index_t found = 0;
    for (const Touch& t : all) found += t.what == what ? 1 : 0;
    return found;
  }
  [[nodiscard]] std::set<std::uint64_t> lines(What what) const {
    std::set<std::uint64_t> found;
    for (const Touch& t : all) {
      if (t.what == what) found.insert(t.address / 64);
    }
    return found;
  }
  std::vector<Touch> all;
};

Walk small(const ProbeVariant& probe, index_t bytes, index_t stride, int threads) {
  return completed(
      probe, {.bytes = bytes, .stride = stride, .rounds = 3, .threads = threads, .cache = 256});
}

TEST(Misses, EveryKindStandsBeforeItsCure) {
  std::map<MissKind, int> rows;
  for (const ProbeVariant& probe : probes()) {
    ++rows[probe.kind];
    if (probe.cures.empty()) continue;
    EXPECT_EQ(row(probe.cures).kind, probe.kind);
    EXPECT_TRUE(row(probe.cures).cures.empty());
  }
  EXPECT_EQ(rows.size(), 5u);
  for (const auto& [kind, count] : rows) EXPECT_EQ(count, 2) << name(kind);
}

TEST(Misses, CureAndProbeDoTheSameWorkAtEverySize) {
  for (const ProbeVariant& probe : probes()) {
    if (probe.cures.empty()) continue;
    for (const index_t bytes : {8, 63, 64, 65, 1000, 4096, 4104, 100'003}) {
      for (const index_t stride : {8, 24, 64, 4096}) {
        for (const int threads : {1, 2, 3}) {
          const Walk walk = small(probe, bytes, stride, threads);
          const auto suffers = row(probe.cures).make(walk), cured = probe.make(walk);
          for (const auto* one : {&suffers, &cured}) {
            (*one)->prepare();
            (*one)->run();
          }
          ASSERT_EQ(suffers->result(), cured->result())
              << probe.name << " " << bytes << " " << stride;
          ASSERT_EQ(suffers->touches(), cured->touches());
        }
      }
    }
  }
}

TEST(Misses, WhatIsTracedIsWhatRuns) {
  for (const ProbeVariant& probe : probes()) {
    const auto one = probe.make(small(probe, 10'000, 64, 2));
    one->prepare();
    one->run();
    const auto wanted = one->result();
    one->prepare();
    Seen seen;
    one->trace(seen);
    EXPECT_EQ(one->result(), wanted) << probe.name;
    EXPECT_EQ(seen.count(Touches::What::load), one->touches()) << probe.name;
    for (const auto& touch : seen.all) EXPECT_LT(touch.thread, one->walk().threads);
  }
}

TEST(Misses, ColdTouchesEveryLineOnceAndItsCureAsksForThemBefore) {
  const auto& probe = row("cold_prefetched");
  const auto one = probe.make(small(probe, 64 * 1000, 64, 1));
  Seen seen;
  one->trace(seen);
  EXPECT_EQ(seen.lines(Touches::What::load).size(), 1000u);
  std::map<std::uint64_t, index_t> asked;
  index_t late = 0;
  for (index_t i = 0; i < static_cast<index_t>(seen.all.size()); ++i) {
    const auto& touch = seen.all[static_cast<std::size_t>(i)];
    if (touch.what == Touches::What::prefetch) asked[touch.address / 64] = i;
    if (touch.what == Touches::What::load) late += asked.contains(touch.address / 64) ? 0 : 1;
  }
  EXPECT_EQ(late, 8);  // the first ones
}

TEST(Misses, ConflictWantsOneSetAndItsCureManyOfThem) {
  const auto sets = [](std::string_view name) {
    const auto one = row(name).make(small(row(name), 64 * 64, 4096, 1));
    Seen seen;
    one->trace(seen);
    std::set<std::uint64_t> found;
    for (const std::uint64_t line : seen.lines(Touches::What::load)) found.insert(line % 64);
    return found.size();
  };
  EXPECT_EQ(sets("conflict"), 1u);
  EXPECT_EQ(sets("conflict_padded"), 64u);
}

TEST(Misses, SharersMeetInALineAndTheirCuresDoNot) {
  const auto lines = [](std::string_view name, index_t stride) {
    const auto one = row(name).make(small(row(name), 8, stride, 4));
    Seen seen;
    one->trace(seen);
    std::vector<std::set<std::uint64_t>> by_thread(4);
    for (const auto& touch : seen.all)
      by_thread[static_cast<std::size_t>(touch.thread)].insert(touch.address / 64);
    std::set<std::uint64_t> all;
    for (const auto& mine : by_thread) {
      EXPECT_EQ(mine.size(), 1u);
      all.insert(*mine.begin());
    }
    return all.size();
  };
  EXPECT_EQ(lines("true_sharing", 8), 1u);
  EXPECT_EQ(lines("false_sharing", 8), 1u);
  EXPECT_EQ(lines("false_sharing", 32), 2u);
  EXPECT_EQ(lines("false_sharing", 64), 4u);
  EXPECT_EQ(lines("true_sharing_private", 8), 4u);
  EXPECT_EQ(lines("false_sharing_padded", 8), 4u);
}

TEST(Misses, PlansNoLessThanItHolds) {
  const Walk huge{
      .bytes = index_t{1} << 50, .stride = index_t{1} << 50, .rounds = 1, .threads = 1, .cache = 1};
  EXPECT_THROW((void)planned_bytes(row("conflict"), huge), Error);
  EXPECT_GE(planned_bytes(row("capacity"), completed(row("capacity"), {})), index_t{64} << 20);
}

}  // namespace
}  // namespace tessera::memory
