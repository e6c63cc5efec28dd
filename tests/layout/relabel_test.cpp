#include "layout/relabel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace tessera::layout {
namespace {

index_t kept(const MatrixLayout& layout, const MatrixLayout& home) {
  index_t sum = 0;
  for (index_t rank = 0; rank < home.ranks(); ++rank)
    sum += intersect(layout.of(rank), home.of(rank)).area();
  return sum;
}

MatrixLayout shuffled(MatrixLayout layout, std::uint64_t seed) {
  for (std::size_t i = layout.boxes.size(); i-- > 1;)
    std::swap(layout.boxes[i],
              layout.boxes[random_bits(seed, 1, static_cast<index_t>(i)) % (i + 1)]);
  return layout;
}

TEST(Relabelled, KeepsAsManyElementsAtHomeAsAnyDealingOfTheBoxes) {
  const index_t rows = 23, cols = 31;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto home = shuffled(grid_blocks(BlockMap(rows, 2), BlockMap(cols, 3), {2, 3}), seed);
    const auto layout = seed % 2 == 0 ? grid_blocks(BlockMap(rows, 3), BlockMap(cols, 2), {3, 2})
                                      : row_blocks(rows, cols, 6);
    std::vector<std::size_t> order(6);
    std::iota(order.begin(), order.end(), std::size_t{0});
    index_t most = 0;
    do {
      MatrixLayout dealt = layout;
      for (std::size_t r = 0; r < 6; ++r) dealt.boxes[r] = layout.boxes[order[r]];
      most = std::max(most, kept(dealt, home));
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(kept(relabelled(layout, home), home), most);
  }
}

TEST(Relabelled, UndoesAShuffle) {
  const auto home = grid_blocks(BlockMap(100, 7), BlockMap(90, 5), {7, 5});
  const auto again = relabelled(shuffled(home, 4), home);
  EXPECT_EQ(kept(again, home), 100 * 90);
}

TEST(Relabelled, LeavesBoxesWhereNothingIsGained) {
  const auto home = row_blocks(12, 12, 4);
  const auto columns = transposed(home);
  EXPECT_TRUE(relabelled(columns, home) == columns);
  EXPECT_TRUE(relabelled(home, home) == home);
}

}  // namespace
}  // namespace tessera::layout
