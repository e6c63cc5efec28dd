// The order of issue on several streams, and spans from the times of events.

#include "kernels/memory/stream_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tessera::memory {
namespace {

std::string text_of(const std::vector<Issued>& order) {
  std::string text;
  for (const Issued& one : order) text += name(one.stage)[0] + std::to_string(one.piece) + ' ';
  return text;
}

TEST(IssueOrder, IsDepthFirstByPieceAndBreadthFirstByStage) {
  EXPECT_EQ(text_of(issue_order(3, 2, Issue::depth)), "t0 k0 f0 t1 k1 f1 t2 k2 f2 ");
  EXPECT_EQ(text_of(issue_order(3, 2, Issue::breadth)), "t0 t1 k0 k1 f0 f1 t2 k2 f2 ");
  EXPECT_EQ(text_of(issue_order(3, 3, Issue::breadth)), "t0 t1 t2 k0 k1 k2 f0 f1 f2 ");
  EXPECT_EQ(text_of(issue_order(2, 1, Issue::breadth)), text_of(issue_order(2, 1, Issue::depth)));
  EXPECT_TRUE(issue_order(0, 4, Issue::breadth).empty());
}

TEST(IssueOrder, KeepsTheStagesOfAPieceInOrder) {
  for (const index_t streams : {1, 2, 5, 16}) {
    for (const Issue issue : {Issue::depth, Issue::breadth}) {
      const auto order = issue_order(16, streams, issue);
      ASSERT_EQ(order.size(), 48u);
      std::vector<index_t> done(16, 0);
      for (const Issued& one : order)
        EXPECT_EQ(done[static_cast<std::size_t>(one.piece)]++, static_cast<index_t>(one.stage));
    }
  }
}

const DeviceSpan& span(const std::vector<DeviceSpan>& spans, Stage stage, index_t piece) {
  return *std::find_if(spans.begin(), spans.end(), [&](const DeviceSpan& one) {
    return one.piece == piece && std::string(one.what) == name(stage);
  });
}

TEST(Spans, FollowEachOtherOnTheirEngine) {
  // Two streams, all pieces ready at 0; each stage takes a second.
  const std::vector<PieceTimes> pieces{{{0, 1, 2, 3}}, {{0, 2, 3, 4}}};
  const auto spans = spans_of(pieces, 2, {1, 1, 1});
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 1).begin, 1);
  EXPECT_DOUBLE_EQ(span(spans, Stage::kernel, 1).begin, 2);
  EXPECT_DOUBLE_EQ(span(spans, Stage::from_device, 1).begin, 3);
  EXPECT_EQ(span(spans, Stage::kernel, 1).stream, 1);
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 0).begin, 0);
}

TEST(Spans, HaveALengthWhereTheEngineServesThePiecesInAnotherOrder) {
  // Piece 2 arrives before piece 1, although it was issued later.
  const std::vector<PieceTimes> pieces{{{0, 1, 2, 3}}, {{0, 3, 4, 5}}, {{0, 2, 3, 4}}};
  const auto spans = spans_of(pieces, 3, {1, 1, 1});
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 2).begin, 1);
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 2).end, 2);
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 1).begin, 2);
}

TEST(Spans, AreNoShorterThanAStageAlone) {
  // Two copies share the link and arrive together: neither can have taken less than one alone.
  const std::vector<PieceTimes> pieces{{{0, 1, 2, 3}}, {{0, 3, 4, 5}}, {{0, 3, 4, 6}}};
  const auto spans = spans_of(pieces, 3, {1, 0.5, 1});
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 1).begin, 1);
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 2).begin, 2);
  EXPECT_DOUBLE_EQ(span(spans, Stage::kernel, 2).begin, 3.5);
}

TEST(Spans, BeginNoSoonerThanThePieceIsReady) {
  const std::vector<PieceTimes> pieces{{{0, 1, 2, 3}}, {{3, 3.5, 4, 5}}};
  const auto spans = spans_of(pieces, 1, {1, 1, 1});
  EXPECT_DOUBLE_EQ(span(spans, Stage::to_device, 1).begin, 3);
  EXPECT_DOUBLE_EQ(span(spans, Stage::kernel, 1).begin, 3.5);
}

}  // namespace
}  // namespace tessera::memory
