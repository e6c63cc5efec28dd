#include "lab/locality/sharing.hpp"

#include <gtest/gtest.h>

namespace tessera::locality {
namespace {

constexpr auto load = Access::Kind::load;
constexpr auto store = Access::Kind::store;

SharingCaches::SharingCounts counted(int threads,
                                     const std::vector<std::pair<int, Access>>& touches) {
  SharingCaches caches(threads, 64);
  for (const auto& [thread, access] : touches) caches.touch(thread, access);
  return caches.counts();
}

void expect(const SharingCaches::SharingCounts& counts, index_t cold, index_t true_sharing,
            index_t false_sharing) {
  EXPECT_EQ(counts.cold, cold);
  EXPECT_EQ(counts.true_sharing, true_sharing);
  EXPECT_EQ(counts.false_sharing, false_sharing);
}

TEST(SharingCaches, OneThreadMissesOnlyAtFirst) {
  expect(counted(1, {{0, {load, 0, 8}}, {0, {store, 8, 8}}, {0, {load, 64, 8}}, {0, {load, 0, 8}}}),
         2, 0, 0);
}

TEST(SharingCaches, ReadersShareInPeace) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {load, 0, 8}}, {0, {load, 0, 8}}, {1, {load, 0, 8}}}),
         2, 0, 0);
}

TEST(SharingCaches, AWordWrittenByAnotherIsTrueSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 0, 8}}, {0, {load, 0, 8}}, {0, {load, 0, 8}}}),
         2, 1, 0);
}

TEST(SharingCaches, AnotherWordOfTheLineIsFalseSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 8, 8}}, {0, {load, 0, 8}}}), 2, 0, 1);
}

TEST(SharingCaches, WritesAddUpWhileTheCopyIsLost) {
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

TEST(SharingCaches, OverlappingBytesAreTrueSharing) {
  expect(counted(2, {{0, {load, 0, 8}}, {1, {store, 4, 8}}, {0, {load, 0, 8}}}), 2, 1, 0);
  expect(counted(2, {{0, {load, 0, 4}}, {1, {store, 4, 8}}, {0, {load, 0, 4}}}), 2, 0, 1);
}

TEST(SharingCaches, ALineOfThirdPartiesIsNotDisturbed) {
  expect(counted(
             3, {{2, {load, 128, 8}}, {0, {store, 0, 8}}, {1, {store, 0, 8}}, {2, {load, 128, 8}}}),
         3, 0, 0);
}

TEST(SharingCaches, TurnsInterleaveStreamsOfUnequalLength) {
  SharingCaches caches(2, 64);
  caches.interleave({{{store, 0, 8}, {store, 0, 8}, {store, 0, 8}}, {{store, 8, 8}}});
  expect(caches.counts(), 2, 0, 1);
  EXPECT_EQ(caches.counts().touches, 4);
}

}  // namespace
}  // namespace tessera::locality
