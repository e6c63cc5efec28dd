#include "dist/transpose/axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/transpose/permute.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::transpose {
namespace {

struct Case {
  std::vector<index_t> extents;
  std::vector<int> axes;
};
const Case cases[] = {{{7}, {0}},
                      {{5, 9}, {1, 0}},
                      {{3, 4, 5}, {2, 0, 1}},
                      {{3, 4, 5}, {1, 2, 0}},
                      {{2, 1, 6, 3}, {3, 1, 0, 2}},
                      {{2, 3, 2, 2, 3, 2}, {5, 3, 1, 0, 2, 4}},
                      {{4, 0, 3}, {2, 1, 0}}};

index_t product(const std::vector<index_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), index_t{1}, std::multiplies<>());
}

TEST(AxesPart, TilesTheResultInOrder) {
  for (const Case& c : cases) {
    for (const index_t ranks : {1, 2, 3, 7}) {
      index_t next = 0;
      for (index_t rank = 0; rank < ranks; ++rank) {
        const AxesPart part = axes_part(c.extents, c.axes, rank, ranks);
        if (part.elements > 0) {
          EXPECT_EQ(part.first_element, next);
        }
        EXPECT_EQ(part.elements, product(part.shape));
        next += part.elements;
      }
      EXPECT_EQ(next, product(c.extents));
    }
  }
}

TEST(Permuted, NamesTheExtentsOfTheResult) {
  const std::vector<index_t> extents{3, 4, 5};
  const std::vector<int> axes{2, 0, 1};
  EXPECT_EQ(permuted(extents, axes), (std::vector<index_t>{5, 3, 4}));
}

std::vector<layout::Range> whole(const std::vector<index_t>& extents) {
  std::vector<layout::Range> ranges;
  for (const index_t extent : extents) ranges.push_back({0, extent});
  return ranges;
}

TEST(SlabChecksum, IsThatOfEverySplitAndOfThePermutation) {
  for (const Case& c : cases) {
    const index_t count = product(c.extents);
    std::vector<int> own(c.extents.size());
    std::iota(own.begin(), own.end(), 0);
    std::vector<std::uint64_t> data(static_cast<std::size_t>(count)), turned(data.size());
    std::iota(data.begin(), data.end(), std::uint64_t{100});
    const auto* const from = reinterpret_cast<const std::byte*>(data.data());
    const auto all = whole(c.extents);
    const std::uint64_t want = slab_checksum({from, all, own, 8}, 3, 2);
    tessera::transpose::permute(c.extents, c.axes, 8, from,
                                reinterpret_cast<std::byte*>(turned.data()), {});
    const auto turned_ranges = whole(permuted(c.extents, c.axes));
    const auto* const to = reinterpret_cast<const std::byte*>(turned.data());
    EXPECT_EQ(slab_checksum({to, turned_ranges, c.axes, 8}, 3, 1), want);
    for (const index_t ranks : {2, 3}) {  // parts of the result
      std::uint64_t sum = 0;
      for (index_t rank = 0; rank < ranks; ++rank) {
        const AxesPart part = axes_part(c.extents, c.axes, rank, ranks);
        std::vector<layout::Range> ranges;
        for (const int axis : c.axes) ranges.push_back(part.from[static_cast<std::size_t>(axis)]);
        sum += slab_checksum({to + part.first_element * 8, ranges, c.axes, 8}, 3, 1);
      }
      EXPECT_EQ(sum, want);
    }
    if (count < 2) continue;
    std::swap(turned.front(), turned.back());
    EXPECT_NE(slab_checksum({to, turned_ranges, c.axes, 8}, 3, 1), want);
  }
}

TEST(SlabChecksum, SeesThatAxesOfOneLengthChangedPlacesOrDidNot) {
  const std::vector<index_t> cube{4, 4, 4};
  std::vector<std::uint64_t> data(64);
  std::iota(data.begin(), data.end(), std::uint64_t{100});
  const auto* const from = reinterpret_cast<const std::byte*>(data.data());
  const auto ranges = whole(cube);
  const std::vector<int> own{0, 1, 2};
  const std::uint64_t want = slab_checksum({from, ranges, own, 8}, 3, 1);
  for (const std::vector<int>& axes : {std::vector<int>{1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}})
    EXPECT_NE(slab_checksum({from, ranges, axes, 8}, 3, 1), want) << axes[0];
}

}  // namespace
}  // namespace tessera::dist::transpose
