#include "kernels/transpose/boxes.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "kernels/transpose/rearrangement_test.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

void expect_rearranged(const std::vector<index_t>& shape, const std::vector<int>& axes,
                       index_t bytes, index_t skew) {
  const Rearrangement task = rearrangement(shape, axes, bytes);
  const index_t count = task.total() / bytes;
  for (const Store store : {Store::cached, Store::streaming}) {
    Fenced a(1, count, count, bytes, skew);
    Fenced b(1, count, count, bytes, skew);
    a.fill(3);
    machine::parallel(2, [&] { rearrange(task, a.view().data, b.view().data, store); });
    EXPECT_EQ(misplaced(task, a.view().data, b.view().data), 0)
        << "bytes " << bytes << " skew " << skew << " axes " << testing::PrintToString(axes)
        << " shape " << testing::PrintToString(shape);
    EXPECT_EQ(b.spoiled(), 0);
  }
}

TEST(Boxes, MoveEveryRecordOfRandomArrays) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) { return static_cast<index_t>(random() % n); };
  const std::vector<index_t> sizes{1, 2, 3, 4, 7, 8, 12, 16, 24, 64, 255, 256, 300, 2500};
  for (int round = 0; round < 300; ++round) {
    const auto rank = static_cast<std::size_t>(2 + below(max_rank - 1));
    const index_t bytes = sizes[static_cast<std::size_t>(below(sizes.size()))];
    std::vector<int> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    do std::shuffle(axes.begin(), axes.end(), random);
    while (axes.back() == static_cast<int>(rank) - 1);
    std::vector<index_t> shape(rank, 2);
    for (index_t room = 400'000 / bytes; room > 0; --room) {  // lengthens axes within the size
                                                              // limit
      index_t& extent = shape[static_cast<std::size_t>(below(rank))];
      extent += 1 + below(static_cast<std::size_t>(extent));
      const index_t total = std::accumulate(shape.begin(), shape.end(), bytes, std::multiplies<>());
      if (total > 400'000) break;
    }
    expect_rearranged(shape, axes, bytes, below(65));
  }
}

TEST(Boxes, MoveArraysOfManyBoxes) {
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    expect_rearranged({131, 5, 1000}, {2, 1, 0}, bytes, 0);
    expect_rearranged({20000, 3, 10}, {0, 2, 1}, bytes, 1);
    expect_rearranged({9, 20000, 3}, {2, 1, 0}, bytes, 16);
    expect_rearranged({36, 3, 36, 5, 36}, {4, 3, 2, 1, 0}, bytes, 8);
  }
  expect_rearranged({300, 700}, {1, 0}, 12, 4);
  expect_rearranged({70, 90}, {1, 0}, 288, 8);
}

TEST(Boxes, KeepWhatLiesBetweenRows) {
  for (const index_t bytes : {3, 4, 8, 24}) {
    Fenced a(500, 7, 9, bytes), b(7, 500, 511, bytes);
    a.fill(4);
    Rearrangement task;
    task.rank = 2;
    task.bytes = bytes;
    task.axis[0] = {7, bytes, b.view().stride()};
    task.axis[1] = {500, a.view().stride(), bytes};
    rearrange(task, a.view().data, b.view().data, Store::streaming);
    EXPECT_EQ(differences(a.view(), b.view()), 0);
    EXPECT_EQ(b.spoiled(), 0);
  }
}

}  // namespace
}  // namespace tessera::transpose
