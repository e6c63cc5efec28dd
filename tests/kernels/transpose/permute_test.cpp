#include "kernels/transpose/permute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/transpose/records_test.hpp"
#include "machine/topology.hpp"

namespace tessera::transpose {
namespace {

/// Returns the number of elements of `to` at wrong positions.
index_t misplaced(const std::vector<index_t>& shape, const std::vector<int>& axes, index_t bytes,
                  const std::byte* from, const std::byte* to) {
  const std::size_t rank = shape.size();
  const index_t count =
      std::accumulate(shape.begin(), shape.end(), index_t{1}, std::multiplies<>());
  index_t wrong = 0;
  std::vector<index_t> index(rank);
  for (index_t p = 0; p < count; ++p) {
    index_t rest = p;
    for (std::size_t k = rank; k-- > 0; rest /= shape[k]) index[k] = rest % shape[k];
    index_t q = 0;
    for (const int axis : axes)
      q = q * shape[static_cast<std::size_t>(axis)] + index[static_cast<std::size_t>(axis)];
    if (std::memcmp(from + p * bytes, to + q * bytes, static_cast<std::size_t>(bytes)) != 0)
      ++wrong;
  }
  return wrong;
}

void expect_permuted(const std::vector<index_t>& shape, const std::vector<int>& axes,
                     index_t bytes) {
  const index_t count =
      std::accumulate(shape.begin(), shape.end(), index_t{1}, std::multiplies<>());
  Fenced a(1, count, count, bytes);
  Fenced b(1, count, count, bytes);
  a.fill(9);
  permute(shape, axes, bytes, a.view().data, b.view().data, {.threads = 2});
  EXPECT_EQ(misplaced(shape, axes, bytes, a.view().data, b.view().data), 0)
      << "rank " << shape.size() << " bytes " << bytes << " axes " << testing::PrintToString(axes)
      << " shape " << testing::PrintToString(shape);
  EXPECT_EQ(b.spoiled(), 0);
}

TEST(Permute, EveryPermutationUpToRankFive) {
  const std::vector<index_t> extents{5, 1, 7, 3, 4};
  for (std::size_t rank = 0; rank <= 5; ++rank) {
    std::vector<int> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    do {
      for (const index_t bytes : {1, 4, 8}) {
        expect_permuted({extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank)},
                        axes, bytes);
      }
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(Permute, RankSixAndLongRecords) {
  expect_permuted({2, 3, 4, 5, 3, 2}, {5, 3, 1, 0, 2, 4}, 8);
  expect_permuted({2, 3, 4, 5, 3, 2}, {5, 4, 3, 2, 1, 0}, 2);
  expect_permuted({2, 3, 4, 5, 3, 2}, {4, 2, 0, 1, 3, 5}, 16);
  expect_permuted({3, 40, 50}, {1, 0, 2}, 8);
  expect_permuted({67, 5, 129}, {2, 1, 0}, 4);
  expect_permuted({67, 5, 129}, {2, 0, 1}, 24);
  expect_permuted({4, 0, 5}, {2, 0, 1}, 8);
}

TEST(Permute, WhatExceedsTheCaches) {
  const index_t slices =
      std::max<index_t>(4'500'000, machine::caches().l3 / 4) / (400 * 450 * 8) + 2;
  expect_permuted({slices, 400, 450}, {0, 2, 1}, 8);  // large slices
  expect_permuted({400, slices, 451}, {2, 1, 0}, 8);
  expect_permuted({slices, 400, 450}, {1, 0, 2}, 8);  // long records
  expect_permuted({slices, 400, 450}, {0, 1, 2}, 8);  // a copy
  expect_permuted({slices, 90000, 5}, {0, 2, 1}, 4);  // short axes
  expect_permuted({slices, 90000, 3}, {2, 0, 1}, 2);
}

TEST(Permute, MergesNeighboursDropsOnesAndLengthensRecords) {
  const Merged whole = merge(std::vector<index_t>{3, 4, 5}, std::vector<int>{0, 1, 2}, 8);
  EXPECT_EQ(whole.rank, 0);
  EXPECT_EQ(whole.bytes, 480);
  const Merged two = merge(std::vector<index_t>{3, 1, 4, 5}, std::vector<int>{3, 1, 0, 2}, 8);
  EXPECT_EQ(two.rank, 2);
  EXPECT_EQ(two.shape[0], 12);
  EXPECT_EQ(two.shape[1], 5);
  EXPECT_EQ(two.bytes, 8);
  const Merged longer = merge(std::vector<index_t>{3, 4, 5, 6}, std::vector<int>{1, 0, 2, 3}, 2);
  EXPECT_EQ(longer.rank, 2);
  EXPECT_EQ(longer.bytes, 60);
}

}  // namespace
}  // namespace tessera::transpose
