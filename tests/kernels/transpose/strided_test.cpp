// Copies between arrays of random strides, compared record by record, with sentinels in all gaps.

#include "kernels/transpose/strided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace tessera::transpose {
namespace {

using Random = std::mt19937;
index_t pick(Random& random, index_t low, index_t high) {
  return low + static_cast<index_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Strides for axes in a random order, with gaps of whole records, or of any number of bytes.
std::vector<index_t> any_strides(Random& random, const std::vector<index_t>& shape, index_t bytes) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<index_t> strides(shape.size());
  const index_t unit = pick(random, 0, 2) == 0 ? 1 : bytes;
  index_t least = bytes;
  for (const std::size_t k : order) {
    const bool gap = pick(random, 0, 2) == 0;
    strides[k] = least + (gap ? unit * pick(random, 1, 3) : 0);
    least = strides[k] * std::max<index_t>(1, shape[k]);
  }
  return strides;
}

struct Side {
  std::vector<index_t> strides;
  std::vector<unsigned char> memory;

  Side(Random& random, const std::vector<index_t>& shape, index_t bytes, unsigned char fill)
      : strides(any_strides(random, shape, bytes)) {
    index_t last = bytes;
    for (std::size_t k = 0; k < shape.size(); ++k)
      last += std::max<index_t>(0, shape[k] - 1) * strides[k];
    memory.assign(static_cast<std::size_t>(last + 2 * margin), fill);
  }
  static constexpr index_t margin = 128;
  [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(memory.data()) + margin; }
};

void run_random(Random& random, index_t rank, index_t most) {
  constexpr index_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 40, 72};
  const index_t bytes = sizes[pick(random, 0, 9)];
  std::vector<index_t> shape;
  for (index_t k = 0; k < rank; ++k) shape.push_back(pick(random, 1, most));
  Side a(random, shape, bytes, 0), b(random, shape, bytes, 0x5a);
  for (unsigned char& x : a.memory) x = static_cast<unsigned char>(random());
  const std::vector<unsigned char> kept = a.memory;
  std::vector<unsigned char> want = b.memory;

  Rearrangement task;
  task.bytes = bytes;
  for (std::size_t k = 0; k < shape.size(); ++k)
    task.axis[task.rank++] = {shape[k], a.strides[k], b.strides[k]};
  for (index_t p = 0; p < task.total() / bytes; ++p) {
    index_t rest = p, from = Side::margin, to = Side::margin;
    for (std::size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
      from += rest % shape[k] * a.strides[k];
      to += rest % shape[k] * b.strides[k];
    }
    std::copy_n(a.memory.begin() + from, bytes, want.begin() + to);
  }
  move_strided(task, a.data(), b.data(), {.threads = static_cast<int>(pick(random, 1, 3))});
  EXPECT_EQ(a.memory, kept);
  EXPECT_TRUE(b.memory == want) << "bytes " << bytes << " shape " << testing::PrintToString(shape)
                                << " from " << testing::PrintToString(a.strides) << " to "
                                << testing::PrintToString(b.strides);
}

TEST(MoveStrided, MovesEveryRecordAndNothingElse) {
  Random random(20261129);
  for (int k = 0; k < 60; ++k)
    for (index_t rank = 0; rank <= max_rank; ++rank) run_random(random, rank, rank > 4 ? 5 : 13);
  for (int k = 0; k < 20; ++k) {
    run_random(random, 1, 200000);
    run_random(random, 2, 700);
    run_random(random, 3, 90);
  }
}

TEST(MoveStrided, RepeatsARecordAlongAStrideOfZero) {
  const double x = 3;
  std::vector<double> y(35, -1);
  Rearrangement task{.rank = 2, .axis = {{5, 0, 56}, {6, 0, 8}}, .bytes = 8};
  move_strided(task, reinterpret_cast<const std::byte*>(&x), reinterpret_cast<std::byte*>(y.data()),
               {});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i % 7 == 6 ? -1 : 3);
}

TEST(MoveStrided, MovesNothingOfAnEmptyArray) {
  Rearrangement task{.rank = 2, .axis = {{0, 8, 8}, {6, 8, 8}}, .bytes = 8};
  move_strided(task, nullptr, nullptr, {});
}

}  // namespace
}  // namespace tessera::transpose
