#include "layout/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.hpp"
#include "dist/relayout/placed.hpp"
#include "layout/array_grid.hpp"

namespace tessera::layout {
namespace {

using dist::relayout::count_up;
using dist::relayout::Cyclic1;
using dist::relayout::permutation;
using dist::relayout::pick;
using dist::relayout::Placed;
using dist::relayout::Random;

/// Returns the elements that are on the same rank in both, counted one by one.
index_t staying(const Placed& a, const Placed& b, const std::vector<index_t>& rank_of) {
  const Distribution& x = a.distribution;
  index_t sum = 0;
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t j = 0; j < x.cols(); ++j) {
      for (index_t r = 0; r < x.ranks(); ++r) {
        if (b.where(r, i, j) && a.where(rank_of[static_cast<std::size_t>(r)], i, j)) ++sum;
      }
    }
  }
  return sum;
}

TEST(BestRanks, KeepAsManyElementsAsAnyPermutation) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    const index_t ranks = pick(random, 1, 5), rows = pick(random, 1, 20),
                  cols = pick(random, 1, 20);
    const Placed a = dist::relayout::any_distribution(random, rows, cols, ranks),
                 b = dist::relayout::any_distribution(random, rows, cols, ranks);
    std::vector<index_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    index_t most = 0;
    do {
      most = std::max(most, staying(a, b, all));
    } while (std::next_permutation(all.begin(), all.end()));
    const std::vector<index_t> best = best_ranks(a.distribution, b.distribution);
    EXPECT_EQ(staying(a, b, best), most);
    EXPECT_NO_THROW(static_cast<void>(b.distribution.relabelled(best)));
  }
}

TEST(BestRanks, FindThePermutationOfRanks) {
  Random random(5);
  const Distribution a(BlockCyclic{{300, 8, 6}, {200, 16, 7}}, 42);
  const std::vector<index_t> moved = permutation(random, 42);
  const Distribution back = a.relabelled(moved).relabelled(best_ranks(a, a.relabelled(moved)));
  for (std::size_t p = 0; p < a.parts().size(); ++p)
    EXPECT_EQ(back.parts()[p].rank, a.parts()[p].rank);
}

TEST(BestRanks, NameWhatDoesNotMatch) {
  const Distribution a(row_blocks(9, 4, 3));
  for (const Distribution& b :
       {Distribution(row_blocks(9, 5, 3)), Distribution(row_blocks(9, 4, 2))})
    EXPECT_THROW(static_cast<void>(best_ranks(a, b)), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1})), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1, 1})), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1, 3})), Error);
}

/// The place of every index by counting, block by block.
TEST(CyclicMap, GivesEveryIndexToOnePart) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const index_t parts = pick(random, 1, 5), extent = pick(random, 0, 60);
    const CyclicMap map{extent, pick(random, 1, 9), parts, pick(random, 0, parts - 1),
                        pick(random, 0, 9)};
    const index_t begin = pick(random, 0, extent), end = pick(random, begin, extent);
    index_t seen = 0;
    for (index_t part = 0; part < parts; ++part) {
      for (const auto& [global, local] : map.segments(part, {begin, end})) {
        for (index_t g = global.begin; g < global.end; ++g, ++seen) {
          const auto [owner, place] = dist::relayout::count_up(map, begin + g);
          EXPECT_EQ(owner, part);
          EXPECT_EQ(place, local + g - global.begin);
        }
      }
    }
    EXPECT_EQ(seen, end - begin);
  }
}

TEST(ArrayGrid, HasEachElementWhereItsAxesHaveIt) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const auto dims = static_cast<std::size_t>(pick(random, 1, 4));
    ArrayGrid grid;
    std::vector<std::vector<Cyclic1>> at(dims);  // by axis and index: part and local index
    std::vector<index_t> shape;
    index_t places = 1;
    for (std::size_t d = 0; d < dims; ++d) {
      CyclicMap map{pick(random, 0, 6), pick(random, 1, 3), pick(random, 1, 3)};
      if (pick(random, 0, 1) == 0) {
        map.block = std::max<index_t>(map.extent / map.parts, 1);  // even shares, where they divide
        map.extent = map.block * map.parts;
        grid.axes.push_back(in_shares({map.extent, map.parts}));
      } else {
        grid.axes.push_back(in_blocks(map));
      }
      for (index_t g = 0; g < map.extent; ++g) at[d].push_back(count_up(map, g));
      shape.push_back(map.extent);
      places *= map.parts;
    }
    const index_t ranks = places + pick(random, 0, 2);
    grid.ranks = permutation(random, ranks);
    grid.ranks.resize(static_cast<std::size_t>(places));
    const auto row_axes = static_cast<std::size_t>(pick(random, 0, static_cast<index_t>(dims)));
    const Distribution flat(grid, row_axes, ranks);
    index_t elements = 0;
    for (const Distribution::Part& part : flat.parts()) {
      const index_t row_length = count(flat.col_segments(part));
      for (const Segment& rows : flat.row_segments(part)) {
        for (const Segment& cols : flat.col_segments(part)) {
          for (index_t k = 0; k < rows.global.size() * cols.global.size(); ++k, ++elements) {
            const index_t i = k / cols.global.size(), j = k % cols.global.size();
            index_t global = (rows.global.begin + i) * flat.cols() + cols.global.begin + j;
            index_t local = (rows.local + i) * row_length + cols.local + j, place = 0, scale = 1;
            for (std::size_t d = dims; d-- > 0; global /= shape[d]) {
              const Cyclic1 one = at[d][static_cast<std::size_t>(global % shape[d])];
              index_t size = 0;
              for (const Cyclic1& each : at[d]) size += each.owner == one.owner ? 1 : 0;
              ASSERT_EQ(local % size, one.local);
              local /= size;
              place += one.owner * scale;
              scale *= grid.axes[d].size();
            }
            ASSERT_EQ(part.rank, grid.ranks[static_cast<std::size_t>(place)]);
          }
        }
      }
    }
    EXPECT_EQ(elements, flat.rows() * flat.cols());
  }
}

TEST(Distribution, FindsBoxesThatARankHasAsOneBlock) {
  // Rows 0 1 | 4 5 and columns 0 1 2 | 6 on rank 0, in local rows 0 1 2 3 and columns 0 1 2 3.
  const Distribution x(BlockCyclic{{6, 2, 2}, {7, 3, 2}}, 4);
  const auto find = [&](index_t rank, const Box& box) {
    const auto place = x.find(rank, box);
    return place ? std::array{place->array, place->row, place->col}
                 : std::array<index_t, 3>{-1, -1, -1};
  };
  const std::array<index_t, 3> nowhere{-1, -1, -1};
  EXPECT_EQ(find(0, {{0, 2}, {0, 3}}), (std::array<index_t, 3>{0, 0, 0}));
  EXPECT_EQ(find(0, {{5, 6}, {1, 3}}), (std::array<index_t, 3>{0, 3, 1}));
  EXPECT_EQ(find(0, {{4, 6}, {6, 7}}), (std::array<index_t, 3>{0, 2, 3}));
  EXPECT_EQ(find(0, {{0, 3}, {0, 3}}), nowhere);
  EXPECT_EQ(find(0, {{0, 2}, {0, 7}}), nowhere);
  EXPECT_EQ(find(1, {{0, 2}, {0, 3}}), nowhere);
  EXPECT_EQ(find(1, {{0, 2}, {3, 6}}), (std::array<index_t, 3>{0, 0, 0}));
  const Distribution grid(BlockGrid{{0, 4, 9}, {0, 5}, {1, 1}}, 2);
  const auto second = grid.find(1, {{5, 7}, {2, 4}});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->array, 1);
  EXPECT_EQ(second->row, 1);
  EXPECT_EQ(second->col, 2);
}

TEST(Distribution, CountsElementsWithoutReplicas) {
  EXPECT_EQ(Distribution(BlockCyclic{{6, 2, 2}, {7, 3, 2}}, 4).elements(), 42);
  const Distribution replicated(BlockCyclic{{6, 2, 2, -1}, {7, 3, 2}}, 4);
  EXPECT_EQ(replicated.elements(), 42);
  EXPECT_FALSE(replicated.find(2, {{0, 1}, {0, 1}}).has_value());  // rank 0 has the original
  EXPECT_TRUE(replicated.find(0, {{0, 1}, {0, 1}}).has_value());
  MatrixLayout hole = row_blocks(6, 7, 3);
  hole.boxes[1].rows.end -= 1;
  EXPECT_EQ(Distribution(hole).elements(), 35);
}

TEST(ArrayGrid, NamesTheArgumentThatIsWrong) {
  const auto argument_of = [](const ArrayGrid& grid) {
    try {
      const Distribution made(grid, 1, 4);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.argument());
    }
  };
  const AxisParts two = in_shares({5, 2});
  EXPECT_EQ(argument_of({{two, two}}), "");
  EXPECT_EQ(argument_of({{two, two, two}}), "grid");
  EXPECT_EQ(argument_of({{two, two}, {0, 1, 2}}), "grid");
  EXPECT_EQ(argument_of({{two, two}, {0, 1, 2, 2}}), "ranks");
  EXPECT_EQ(argument_of({{two, two}, {0, 1, 2, 4}}), "ranks");
  const AxisParts huge = in_shares({index_t{1} << 40, 1});
  EXPECT_EQ(argument_of({{huge, huge}}), "shape");
}

}  // namespace
}  // namespace tessera::layout
