#include "lab/locality/coherence.hpp"

#include <gtest/gtest.h>

namespace tessera::locality {
namespace {

constexpr auto load = Access::Kind::load;
constexpr auto store = Access::Kind::store;

CoherenceCounts counted(int threads, const std::vector<std::pair<int, Access>>& touches) {
  CoherentCaches caches({.caches = threads});
  for (const auto& [thread, access] : touches) caches.touch(thread, access);
  return caches.counts();
}

void expect(const CoherenceCounts& counts, index_t cold, index_t true_sharing,
            index_t false_sharing) {
  EXPECT_EQ(counts.cold, cold);
  EXPECT_EQ(counts.true_sharing, true_sharing);
  EXPECT_EQ(counts.false_sharing, false_sharing);
}

TEST(CoherentCaches, OneThreadMissesOnlyAtFirst) {
  expect(counted(1, {{0, {load, 0, 8}}, {0, {store, 8, 8}}, {0, {load, 64, 8}}, {0, {load, 0, 8}}}),
         2, 0, 0);
}

TEST(CoherentCaches, ReadersShareInPeace) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {load, 0, 8}}, {0, {load, 0, 8}}, {1, {load, 0, 8}}}),
         2, 0, 0);
}

TEST(CoherentCaches, AWordWrittenByAnotherIsTrueSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 0, 8}}, {0, {load, 0, 8}}, {0, {load, 0, 8}}}),
         2, 1, 0);
}

TEST(CoherentCaches, AnotherWordOfTheLineIsFalseSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 8, 8}}, {0, {load, 0, 8}}}), 2, 0, 1);
}

TEST(CoherentCaches, WritesAddUpWhileTheCopyIsLost) {
  // Thread 0 loses the line to a write of word 1; word 0 is written before it reloads the line:
  // true sharing.
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 8, 8}}, {1, {store, 0, 8}}, {0, {load, 0, 8}}}),
         2, 1, 0);
  // After a reload, earlier writes no longer count.
  expect(counted(2, {{0, {load, 0, 8}},
                     {1, {store, 0, 8}},
                     {0, {load, 0, 8}},
                     {1, {store, 8, 8}},
                     {0, {load, 0, 8}}}),
         2, 1, 1);
}

TEST(CoherentCaches, OverlappingBytesAreTrueSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 4, 8}}, {0, {load, 0, 8}}}), 2, 1, 0);
  expect(counted(2, {{0, {load, 0, 4}}, {1, {store, 4, 8}}, {0, {load, 0, 4}}}), 2, 0, 1);
}

TEST(CoherentCaches, ALineOfThirdPartiesIsNotDisturbed) {
  expect(counted(
             3, {{2, {load, 128, 8}}, {0, {store, 0, 8}}, {1, {store, 0, 8}}, {2, {load, 128, 8}}}),
         3, 0, 0);
}

TEST(CoherentCaches, TurnsInterleaveStreamsOfUnequalLength) {
  CoherentCaches caches({.caches = 2});
  caches.interleave({{{store, 0, 8}, {store, 0, 8}, {store, 0, 8}}, {{store, 8, 8}}});
  expect(caches.counts(), 2, 0, 1);
  EXPECT_EQ(caches.counts().touches, 4);
}

constexpr index_t two_lines = 128;

CoherentCaches caches_of(int caches, Protocol protocol, std::optional<Geometry> geometry = {}) {
  return CoherentCaches({.caches = caches, .geometry = geometry, .protocol = protocol});
}

TEST(CoherentCaches, GoThroughTheStatesOfMsi) {
  CoherentCaches caches = caches_of(2, Protocol::msi);
  EXPECT_EQ(caches.state(0, 0), LineState::invalid);
  EXPECT_TRUE(caches.touch(0, {load, 0, 8}));
  EXPECT_EQ(caches.state(0, 0), LineState::shared);
  EXPECT_FALSE(caches.touch(0, {store, 0, 8}));
  EXPECT_EQ(caches.state(0, 0), LineState::modified);
  EXPECT_EQ(caches.counts().upgrades, 1);
  EXPECT_TRUE(caches.touch(1, {load, 0, 8}));  // the modified line is written back
  EXPECT_EQ(caches.state(0, 0), LineState::shared);
  EXPECT_EQ(caches.state(1, 0), LineState::shared);
  EXPECT_EQ(caches.counts().write_backs, 1);
  EXPECT_FALSE(caches.touch(1, {store, 0, 8}));
  EXPECT_EQ(caches.state(0, 0), LineState::invalid);
  EXPECT_EQ(caches.state(1, 0), LineState::modified);
  EXPECT_EQ(caches.counts().invalidations, 1);
  EXPECT_TRUE(caches.touch(0, {store, 8, 8}));  // takes a modified line
  EXPECT_EQ(caches.counts().write_backs, 2);
  EXPECT_EQ(caches.counts().false_sharing, 1);
}

TEST(CoherentCaches, OfMesiNeedNoUpgradeOfALineThatIsHeldAlone) {
  CoherentCaches caches = caches_of(2, Protocol::mesi);
  caches.touch(0, {load, 0, 8});
  EXPECT_EQ(caches.state(0, 0), LineState::exclusive);
  caches.touch(0, {store, 0, 8});
  EXPECT_EQ(caches.state(0, 0), LineState::modified);
  EXPECT_EQ(caches.counts().upgrades, 0);
  caches.touch(1, {load, 64, 8});
  caches.touch(0, {load, 64, 8});
  EXPECT_EQ(caches.state(1, 64), LineState::shared);
  EXPECT_EQ(caches.state(0, 64), LineState::shared);
  EXPECT_EQ(caches.counts().write_backs, 0);  // an exclusive line is clean
  caches.touch(0, {store, 64, 8});
  EXPECT_EQ(caches.counts().upgrades, 1);
}

TEST(CoherentCaches, WriteBackOrWriteThrough) {
  // Eight stores to each of three lines with room for two: one line is replaced, three times over.
  const auto traffic = [](Protocol protocol) {
    CoherentCaches caches = caches_of(1, protocol, Geometry{.bytes = two_lines, .ways = 0});
    for (std::uint64_t at = 0; at < 192; at += 8) caches.touch(0, {store, at, 8});
    caches.touch(0, {load, 192, 8});
    return caches.counts();
  };
  const CoherenceCounts back = traffic(Protocol::msi), through = traffic(Protocol::write_through);
  EXPECT_EQ(back.dirty_evictions, 2);
  EXPECT_EQ(back.write_backs, 2);
  EXPECT_EQ(back.stored_bytes, 0);
  EXPECT_EQ(through.dirty_evictions, 0);
  EXPECT_EQ(through.clean_evictions, 2);
  EXPECT_EQ(through.stored_bytes, 192);
  EXPECT_EQ(back.misses(), through.misses());
}

TEST(CoherentCaches, TellReplacedLinesFromInvalidatedOnes) {
  CoherentCaches caches = caches_of(2, Protocol::msi, Geometry{.bytes = two_lines, .ways = 0});
  for (const std::uint64_t line : {0U, 1U, 2U}) caches.touch(0, {load, 64 * line, 8});
  caches.touch(0, {load, 0, 8});  // replaced by line 2
  EXPECT_EQ(caches.counts().replaced, 1);
  caches.touch(1, {store, 0, 8});  // invalidates it, which makes room
  caches.touch(0, {load, 64, 8});
  EXPECT_EQ(caches.counts().replaced, 2);
  EXPECT_EQ(caches.counts().clean_evictions, 2);  // of 0 and 1: line 0 left a free place
  caches.touch(0, {load, 128, 8});
  EXPECT_EQ(caches.counts().misses(), caches.counts().cold + 2);
}

TEST(CoherentCaches, CountEveryAccessAsATransitionOfItsOwn) {
  CoherentCaches caches = caches_of(3, Protocol::mesi, Geometry{.bytes = two_lines, .ways = 1});
  index_t stores = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto random = static_cast<unsigned>(i) * 2654435761U;
    const bool is_store = random % 7 < 3;
    stores += is_store ? 1 : 0;
    caches.touch(static_cast<int>(random / 7 % 3),
                 {is_store ? store : load, random / 64 % 64 * 8, 8});
  }
  const CoherenceCounts& counts = caches.counts();
  const auto sum = [&](Cause cause) {
    index_t total = 0;
    for (const auto& from : counts.transitions[static_cast<std::size_t>(cause)]) {
      for (const index_t count : from) total += count;
    }
    return total;
  };
  EXPECT_EQ(sum(Cause::load) + sum(Cause::store), 5000);
  EXPECT_EQ(sum(Cause::store), stores);
  EXPECT_EQ(sum(Cause::other_store), counts.invalidations);
  EXPECT_EQ(sum(Cause::replacement), counts.dirty_evictions + counts.clean_evictions);
  EXPECT_GT(counts.dirty_evictions, 0);
  EXPECT_GT(counts.upgrades, 0);
}

}  // namespace
}  // namespace tessera::locality
