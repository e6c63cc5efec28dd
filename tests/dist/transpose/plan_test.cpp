#include "dist/transpose/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "dist/transpose/transpose.hpp"

namespace tessera::dist::transpose {
namespace {

const auto nobody = [](index_t) { return false; };

index_t area(const std::vector<layout::Box>& boxes) {
  index_t sum = 0;
  for (const auto& box : boxes) sum += box.area();
  return sum;
}

TEST(Partner, MeetsEveryRankOnceAndIsMutual) {
  for (index_t ranks = 1; ranks <= 17; ++ranks) {
    for (index_t rank = 0; rank < ranks; ++rank) {
      std::vector<bool> met(static_cast<std::size_t>(ranks));
      for (index_t phase = 0; phase < ranks; ++phase) {
        const index_t peer = partner(rank, phase, ranks);
        EXPECT_EQ(partner(peer, phase, ranks), rank);
        met[static_cast<std::size_t>(peer)] = true;
      }
      EXPECT_TRUE(std::all_of(met.begin(), met.end(), [](bool m) { return m; }));
    }
  }
}

TEST(Strips, CoverTheBoxInSmallPieces) {
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{0, 5}, {5, 0}, {1, 1}, {17, 23}, {1, 100}, {100, 1}}) {
    for (const index_t most : {1, 7, 23, 24, 1000}) {
      const layout::Box box{{3, 3 + rows}, {11, 11 + cols}};
      const auto pieces = strips(box, most);
      EXPECT_EQ(area(pieces), box.area());
      for (std::size_t a = 0; a < pieces.size(); ++a) {
        EXPECT_LE(pieces[a].area(), most);
        for (std::size_t b = 0; b < a; ++b) EXPECT_TRUE(intersect(pieces[a], pieces[b]).empty());
      }
    }
  }
}

/// Returns whether all ranks complete their steps with at most two receives posted and two sends in
/// flight, where a send completes once its receive is posted.
bool comes_to_an_end(const std::vector<std::vector<Step>>& all) {
  const std::size_t ranks = all.size();
  const auto pair = [&](std::size_t from, std::size_t to) { return from * ranks + to; };
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> receives(ranks),
      sends(ranks);  // (pair, number)
  std::vector<std::size_t> in_count(ranks * ranks), out_count(ranks * ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Step& step : all[r]) {
      if (step.receive) {
        const auto p = pair(static_cast<std::size_t>(step.receive->peer), r);
        receives[r].push_back({p, in_count[p]++});
      }
      if (step.send) {
        const auto p = pair(r, static_cast<std::size_t>(step.send->peer));
        sends[r].push_back({p, out_count[p]++});
      }
    }
  }
  if (in_count != out_count) return false;
  std::vector<std::size_t> posted(ranks * ranks), started(ranks * ranks), at(ranks), half(ranks),
      sent(ranks), received(ranks);
  const auto post = [&](std::size_t r, std::size_t k) {
    if (k < receives[r].size()) ++posted[receives[r][k].first];
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    post(r, 0);
    post(r, 1);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (at[r] == all[r].size()) continue;
      const Step& step = all[r][at[r]];
      if (half[r] == 0) {
        if (step.send) {
          if (sent[r] >= 2) {
            const auto& [p, number] = sends[r][sent[r] - 2];
            if (posted[p] <= number) continue;
          }
          ++started[sends[r][sent[r]++].first];
        }
        half[r] = 1;
        moved = true;
      }
      if (step.receive) {
        const auto& [p, number] = receives[r][received[r]];
        if (started[p] <= number) continue;
        post(r, received[r]++ + 2);
      }
      half[r] = 0;
      ++at[r];
      moved = true;
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (at[r] != all[r].size()) return false;
  }
  return true;
}

TEST(PairwiseSteps, MoveEverythingOnceAndNeverWaitInACircle) {
  for (const index_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12}) {
    for (const auto& [rows, cols] :
         {std::pair<index_t, index_t>{40, 60}, {3, 50}, {50, 3}, {1, 1}, {0, 9}, {37, 41}}) {
      const auto source = layout::transposed(layout::row_blocks(rows, cols, ranks));
      const auto target = layout::row_blocks(cols, rows, ranks);
      std::vector<std::vector<Step>> all;
      for (index_t rank = 0; rank < ranks; ++rank) {
        all.push_back(pairwise_steps(source, target, rank, 7, nobody));
        index_t in = 0;
        for (const Step& step : all.back()) in += step.receive ? step.receive->box.area() : 0;
        EXPECT_EQ(in, target.of(rank).area() - intersect(target.of(rank), source.of(rank)).area());
      }
      EXPECT_TRUE(comes_to_an_end(all)) << ranks << " ranks, " << rows << " x " << cols;
    }
  }
}

TEST(PairwiseSteps, MatchWhatThePeerExpectsInOrder) {
  const auto source = layout::transposed(layout::row_blocks(29, 31, 5)),
             target = layout::row_blocks(31, 29, 5);
  for (index_t from = 0; from < 5; ++from) {
    for (index_t to = 0; to < 5; ++to) {
      std::vector<layout::Box> sent, received;
      for (const Step& step : pairwise_steps(source, target, from, 10, nobody)) {
        if (step.send && step.send->peer == to) sent.push_back(step.send->box);
      }
      for (const Step& step : pairwise_steps(source, target, to, 10, nobody)) {
        if (step.receive && step.receive->peer == from) received.push_back(step.receive->box);
      }
      EXPECT_EQ(sent, received);
    }
  }
}

TEST(SwapSteps, ReceiveWhereTheySentFrom) {
  for (const index_t ranks : {1, 2, 3, 4, 7}) {
    const auto home = layout::row_blocks(41, 41, ranks);
    std::vector<std::vector<Step>> all;
    for (index_t rank = 0; rank < ranks; ++rank) {
      all.push_back(swap_steps(home, rank, 30));
      for (const Step& step : all.back()) {
        ASSERT_TRUE(step.send && step.receive);
        EXPECT_EQ(step.send->peer, step.receive->peer);
        EXPECT_EQ(layout::transposed(step.send->box), step.receive->box);
      }
    }
    EXPECT_TRUE(comes_to_an_end(all));
  }
}

TEST(Forecast, CountsWhatIsSentAsReceivedByOthers) {
  for (const Algorithm algorithm : {Algorithm::alltoall, Algorithm::pairwise, Algorithm::shared}) {
    const auto all = forecast({.rows = 500, .cols = 300, .ranks = 6, .ranks_per_node = 2},
                              {.algorithm = algorithm});
    index_t sent = 0, received = 0, home = 0;
    for (const Forecast& f : all) {
      sent += f.sent_bytes;
      received += f.received_bytes;
      home += f.home_bytes;
    }
    EXPECT_EQ(sent, received);
    EXPECT_EQ(home, 2 * 500 * 300 * 8);
    const index_t of_six = algorithm == Algorithm::shared ? 4 : 5;  // peers that need messages
    EXPECT_NEAR(static_cast<double>(received), 500 * 300 * 8.0 * static_cast<double>(of_six) / 6,
                2000);
  }
}

TEST(Home, HasBlocksThatBeginAtWholeLinesWhereTheyAreLong) {
  const auto starts = [](const ForecastRequest& request, index_t rows) {
    std::vector<index_t> found;
    for (const layout::Box& box : request.home(rows, 10).boxes) found.push_back(box.rows.begin);
    return found;
  };
  EXPECT_EQ(starts({.ranks = 3}, 1000),
            (std::vector<index_t>{0, 336, 672}));  // 125 lines of 8 doubles
  EXPECT_EQ(starts({.element_bytes = 16, .ranks = 3}, 1000), (std::vector<index_t>{0, 336, 668}));
  EXPECT_EQ(starts({.element_bytes = 12, .ranks = 3}, 1000), (std::vector<index_t>{0, 334, 667}));
  EXPECT_EQ(starts({.ranks = 3}, 100), (std::vector<index_t>{0, 34, 67}));
  EXPECT_EQ(starts({.element_bytes = 1, .ranks = 3}, 3000), (std::vector<index_t>{0, 1000, 2000}));
}

TEST(Forecast, OnOneNodeTheSharedAlgorithmSendsNothingAndReadsAndWritesOnce) {
  for (const Forecast& f : forecast({.rows = 512, .cols = 512, .ranks = 4, .ranks_per_node = 4},
                                    {.algorithm = Algorithm::shared})) {
    EXPECT_EQ(f.messages, 0);
    EXPECT_EQ(f.received_bytes, 0);
    EXPECT_EQ(f.work_bytes, 0);
    EXPECT_EQ(f.touched_bytes, 2 * 512 * 128 * 8);
  }
}

TEST(Forecast, InPlaceHoldsOneMatrixAndFourPieces) {
  const Method method{.piece_bytes = 4096};
  for (const Forecast& f :
       forecast({.rows = 1024, .cols = 1024, .ranks = 4, .in_place = true}, method)) {
    EXPECT_EQ(f.home_bytes, 256 * 1024 * 8);
    EXPECT_LE(f.work_bytes, 4 * 4096);
    EXPECT_GT(f.messages, 0);
  }
}

}  // namespace
}  // namespace tessera::dist::transpose
