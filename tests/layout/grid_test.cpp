#include "layout/grid_layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tessera::layout {
namespace {

GridRequest request(Index3 global, index_t ranks, index_t depth = 1) {
  GridRequest r{global, ranks, {}, {}, 1};
  for (int d = 0; d < 3; ++d) r.depth[d] = global[d] > 1 ? depth : 0;
  return r;
}

TEST(ChooseGrid, TakesTheLeastHalo) {
  EXPECT_EQ(choose_grid(request({{1, 100, 100}}, 4)).parts, (Index3{{1, 2, 2}}));
  EXPECT_EQ(choose_grid(request({{1, 1000, 10}}, 4)).parts, (Index3{{1, 4, 1}}));
  EXPECT_EQ(choose_grid(request({{1, 10, 1000}}, 4)).parts, (Index3{{1, 1, 4}}));
  EXPECT_EQ(choose_grid(request({{100, 100, 100}}, 8)).parts, (Index3{{2, 2, 2}}));
  EXPECT_EQ(choose_grid(request({{1, 1, 100}}, 6)).parts, (Index3{{1, 1, 6}}));
}

TEST(ChooseGrid, CutsSlowDimensionsWhereLinesCost) {
  GridRequest lines = request({{1, 100, 100}}, 4);
  lines.line = 16;
  EXPECT_EQ(choose_grid(lines).parts, (Index3{{1, 4, 1}}));
}

TEST(ChooseGrid, UsesEveryRankOfAPrimeAndLeavesRanksThatFindNoRows) {
  EXPECT_EQ(choose_grid(request({{1, 70, 20}}, 7)).parts, (Index3{{1, 7, 1}}));
  EXPECT_EQ(choose_grid(request({{1, 3, 3}}, 7)).parts, (Index3{{1, 3, 2}}));
  EXPECT_EQ(choose_grid(request({{1, 1, 1}}, 7)).active(), 1);
  EXPECT_EQ(choose_grid(request({{1, 0, 5}}, 7, 1)).parts[1], 1);
  EXPECT_EQ(choose_grid(request({{1, 8, 8}}, 4, 4)).parts, (Index3{{1, 2, 2}}));
  EXPECT_EQ(choose_grid(request({{1, 8, 7}}, 4, 4)).parts, (Index3{{1, 2, 1}}));
}

TEST(GridLayout, BoxesCoverTheFieldOnce) {
  const GridLayout grid{{{5, 7, 11}}, {{2, 3, 2}}, 14};
  std::map<index_t, int> held;
  for (index_t rank = 0; rank < grid.ranks; ++rank) {
    const Box3 box = grid.of(rank);
    EXPECT_EQ(box.empty(), rank >= 12);
    EXPECT_TRUE(box.empty() || grid.rank_at(grid.place(rank)) == rank);
    for (index_t z = box.low[0]; z < box.high[0]; ++z)
      for (index_t y = box.low[1]; y < box.high[1]; ++y)
        for (index_t x = box.low[2]; x < box.high[2]; ++x) ++held[(z * 7 + y) * 11 + x];
  }
  EXPECT_EQ(held.size(), 5u * 7 * 11);
  for (const auto& [point, times] : held) EXPECT_EQ(times, 1) << point;
}

Box3 shifted(Box3 box, Index3 by) {
  for (int d = 0; d < 3; ++d) {
    box.low[d] += by[d];
    box.high[d] += by[d];
  }
  return box;
}

TEST(WeightedGrid, CutsTheLongestDimensionByWeights) {
  const auto grid = weighted_grid(request({{1, 100, 40}}, 4, 2), {1, 6, 2, 1});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->parts, (Index3{{1, 4, 1}}));
  EXPECT_EQ(grid->of(1), (Box3{{{0, 10, 0}}, {{1, 70, 40}}}));
  EXPECT_EQ(grid->shortest(1), 10);
  EXPECT_EQ(weighted_grid(request({{1, 40, 100}}, 3, 2), {1, 1, 1e9})->of(0),
            (Box3{{}, {{1, 40, 2}}}));
  EXPECT_FALSE(weighted_grid(request({{1, 5, 4}}, 3, 2), {1, 1, 1}))
      << "no room for three of two rows";
  index_t points = 0;
  for (index_t rank = 0; rank < 4; ++rank) points += grid->of(rank).volume();
  EXPECT_EQ(points, 4000);
}

/// Expects that each piece one rank of the grid receives is one that another sends.
void expect_mutual(const GridLayout& grid, Index3 depth, const std::array<bool, 3>& periodic);

TEST(Halo, IsMutualBetweenBoxesByWeights) {
  const GridRequest wanted = request({{9, 40, 12}}, 5, 3);
  const auto grid = weighted_grid(wanted, {1, 50, 3, 0.1, 7});
  ASSERT_TRUE(grid);
  expect_mutual(*grid, wanted.depth, {false, false, false});
  expect_mutual(*grid, wanted.depth, {true, true, false});
}

TEST(Halo, WhatOneGivesTheOtherTakes) {
  for (const std::array<bool, 3> periodic :
       {std::array{false, false, false}, std::array{true, false, true}}) {
    for (const Index3 parts :
         {Index3{{1, 2, 3}}, Index3{{2, 2, 2}}, Index3{{3, 1, 2}}, Index3{{1, 1, 1}}}) {
      const Index3 global{{9, 10, 12}}, depth{{3, 2, 4}};
      expect_mutual({global, parts, parts.volume()}, depth, periodic);
    }
  }
}

void expect_mutual(const GridLayout& grid, Index3 depth, const std::array<bool, 3>& periodic) {
  const Index3 global = grid.global;
  for (index_t rank = 0; rank < grid.ranks; ++rank) {
    std::set<std::pair<index_t, int>> seen;
    for (const HaloPiece& in : halo_receives(grid, rank, depth, periodic)) {
      EXPECT_TRUE(seen.insert({in.peer, in.tag}).second)
          << "one message would be taken for another";
      int matches = 0;
      for (const HaloPiece& out : halo_sends(grid, in.peer, depth, periodic)) {
        if (out.peer != rank || out.tag != in.tag) continue;
        ++matches;
        const Box3 from = shifted(out.box, grid.of(in.peer).low),
                   to = shifted(in.box, grid.of(rank).low);
        for (int d = 0; d < 3; ++d) {
          EXPECT_EQ(((from.low[d] - to.low[d]) % global[d] + global[d]) % global[d], 0);
          EXPECT_EQ(from.size()[d], to.size()[d]);
        }
      }
      EXPECT_EQ(matches, 1);
    }
    EXPECT_EQ(halo_receives(grid, rank, depth, periodic).size(),
              halo_sends(grid, rank, depth, periodic).size());
  }
}

}  // namespace
}  // namespace tessera::layout
