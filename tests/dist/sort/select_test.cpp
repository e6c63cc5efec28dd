#include "dist/sort/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "layout/block_map.hpp"

namespace tessera::dist::sort {
namespace {

using Words = std::vector<std::uint64_t>;

Words made(index_t n, std::uint64_t mask) {
  Words keys;
  for (index_t i = 0; i < n; ++i) keys.push_back(random_bits(9, 1, i) & mask);
  return keys;
}

void check(const Words& keys, const std::vector<index_t>& positions) {
  const auto comm = mpi::Communicator::world();
  const layout::Range mine =
      layout::BlockMap(static_cast<index_t>(keys.size()), comm.size()).range(comm.rank());
  const std::span<const std::uint64_t> held(keys.data() + mine.begin,
                                            static_cast<std::size_t>(mine.size()));
  const BitsPass pass = [&](const BitsPiece& piece) {  // in two unequal pieces
    piece(held.first(held.size() / 3));
    piece(held.subspan(held.size() / 3));
  };
  const auto found = select(comm, pass, positions);
  Words sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(found.size(), positions.size());
  for (std::size_t p = 0; p < positions.size(); ++p) {
    const std::uint64_t want = sorted[static_cast<std::size_t>(positions[p])];
    EXPECT_EQ(found[p].bits, want) << positions[p];
    EXPECT_EQ(found[p].below,
              std::lower_bound(sorted.begin(), sorted.end(), want) - sorted.begin());
  }
}

TEST(Select, FindsWhatStandsInTheSortedOrder) {
  for (const index_t n : {1, 2, 3, 1000, 40009}) {
    for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xFF}, std::uint64_t{0},
                                     std::uint64_t{0x8000000000000001}})
      check(made(n, mask), {0, n / 2, n - 1, n / 3, n / 2});
  }
}

TEST(Select, NarrowsDownWhateverLiesFarAway) {
  Words keys = made(5000, 0xFFF);  // all in one bin, except for one key
  keys.push_back(~std::uint64_t{0});
  check(keys, {0, 2500, 4999, 5000});
}

TEST(Select, TellsMoreKeysThanAreKeptAgain) {
  if (mpi::Communicator::world().size() != 4)
    return;  // a single number of ranks limits the test's time
  check(made((1 << 20) + 77, ~std::uint64_t{0}), {0, 1 << 19, (1 << 19) + 1, (1 << 20) + 76});
}

TEST(Select, OfNoPositionsIsNothing) {
  EXPECT_TRUE(select(mpi::Communicator::world(), [](const BitsPiece&) {}, {}).empty());
}

TEST(QuantilePlace, LiesBetweenNeighbours) {
  EXPECT_EQ(quantile_place(0.5, 5).below, 2);
  EXPECT_EQ(quantile_place(0.5, 5).fraction, 0);
  EXPECT_EQ(quantile_place(0.5, 4).above, 2);
  EXPECT_EQ(quantile_place(0.5, 4).fraction, 0.5);
  EXPECT_EQ(quantile_place(1, 4).below, 3);
  EXPECT_EQ(quantile_place(1, 4).above, 3);
  EXPECT_EQ(quantile_place(0, 1).above, 0);
}

}  // namespace
}  // namespace tessera::dist::sort
