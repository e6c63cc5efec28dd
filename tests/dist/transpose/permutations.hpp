#pragma once
// Random permutations of axes between random grids, and where their elements are by counting.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "dist/relayout/placed.hpp"
#include "dist/transpose/permute_plan.hpp"

namespace tessera::dist::transpose {

using layout::ArrayGrid;
using layout::CyclicMap;
using mpi::Communicator;
using relayout::count_up;
using relayout::Cyclic1;
using relayout::pick;
using relayout::Random;

inline constexpr std::size_t margin = 64;
inline constexpr std::byte sentinel{0x5a};

/// A grid, and where its elements are: by axis and index the part and the local index.
struct Split {
  ArrayGrid grid;
  std::vector<std::vector<Cyclic1>> at;

  /// Returns the local indices that a part of an axis has.
  [[nodiscard]] index_t size(std::size_t d, index_t part) const {
    return std::accumulate(
        at[d].begin(), at[d].end(), index_t{0},
        [&](index_t sum, const Cyclic1& one) { return sum + (one.owner == part ? 1 : 0); });
  }
  /// Returns the offset of an element in the share of a rank, or -1.
  [[nodiscard]] index_t offset(const std::vector<index_t>& index, index_t rank) const {
    index_t place = 0, local = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Cyclic1 one = at[d][static_cast<std::size_t>(index[d])];
      place = place * grid.axes[d].size() + one.owner;
      local = local * size(d, one.owner) + one.local;
    }
    return grid.ranks[static_cast<std::size_t>(place)] == rank ? local : -1;
  }
};

inline Split any_split(Random& random, const std::vector<index_t>& shape, index_t ranks) {
  Split split;
  index_t places = 1;
  for (const index_t extent : shape) {
    CyclicMap map{extent, pick(random, 1, 3), pick(random, 1, ranks / places)};
    if (pick(random, 0, 1) == 0) map.block = std::max<index_t>(1, ceil_div(extent, map.parts));
    split.grid.axes.push_back(layout::in_blocks(map));
    places *= map.parts;
    split.at.emplace_back();
    for (index_t g = 0; g < extent; ++g) split.at.back().push_back(count_up(map, g));
  }
  split.grid.ranks = relayout::permutation(random, ranks);
  split.grid.ranks.resize(static_cast<std::size_t>(places));
  return split;
}

inline void put(std::byte* to, index_t number, index_t bytes) {
  for (index_t k = 0; k < bytes; ++k)
    to[k] = static_cast<std::byte>(mix64(static_cast<std::uint64_t>(number * 131 + k)));
}

struct Case {
  std::vector<index_t> shape;
  std::vector<int> axes;
  Split a, b;
  index_t bytes;
};

inline Case any_case(Random& random, index_t ranks) {
  constexpr index_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 72};
  Case c;
  const index_t dims = pick(random, 1, 4);
  for (index_t d = 0; d < dims; ++d) c.shape.push_back(pick(random, 0, 12 - 2 * dims));
  if (pick(random, 0, 3) > 0)
    for (index_t& extent : c.shape) extent = std::max<index_t>(1, extent);
  for (const index_t axis : relayout::permutation(random, dims))
    c.axes.push_back(static_cast<int>(axis));
  std::vector<index_t> permuted;
  for (const int axis : c.axes) permuted.push_back(c.shape[static_cast<std::size_t>(axis)]);
  c.a = any_split(random, c.shape, ranks);
  c.b = any_split(random, permuted, ranks);
  c.bytes = sizes[pick(random, 0, 8)];
  return c;
}

/// Calls f(index of a, index of b) for all elements.
template <class F>
void each_element(const Case& c, const F& f) {
  const index_t all =
      std::accumulate(c.shape.begin(), c.shape.end(), index_t{1}, std::multiplies<>());
  std::vector<index_t> from(c.shape.size()), to(c.shape.size());
  for (index_t number = 0; number < all; ++number) {
    index_t rest = number;
    for (std::size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d]) from[d] = rest % c.shape[d];
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = from[static_cast<std::size_t>(c.axes[k])];
    f(number, from, to);
  }
}

/// Makes a plan by make(permutation), executes it twice and compares, with sentinels around both
/// shares. There: the memory of a share, made of its bytes, with upload(bytes) and download(bytes).
template <class There, class Make>
void run(const Case& c, const Communicator& comm, const Make& make) {
  PermutePlan plan = make(ArrayPermutation{c.a.grid, c.axes, c.b.grid, c.bytes});
  const auto room = [&](index_t elements) {
    return std::vector<std::byte>(static_cast<std::size_t>(elements * c.bytes) + 2 * margin,
                                  sentinel);
  };
  std::vector<std::byte> a = room(plan.a_elements()), b = room(plan.b_elements()), wanted = b;
  index_t held = 0;
  each_element(c, [&](index_t number, const auto& from, const auto& to) {
    const index_t source = c.a.offset(from, comm.rank()), target = c.b.offset(to, comm.rank());
    if (source >= 0) put(a.data() + margin + source * c.bytes, number, c.bytes);
    if (target >= 0) put(wanted.data() + margin + target * c.bytes, number, c.bytes);
    held += target >= 0 ? 1 : 0;
  });
  EXPECT_EQ(held, plan.b_elements());
  std::vector<std::byte> other(a.size(), std::byte{0x33});
  There a_there(a), b_there(b);
  for (int k = 0; k < 2; ++k) {
    std::fill(b.begin(), b.end(), sentinel);
    a_there.upload(a);
    b_there.upload(b);
    plan.start(a_there.data() + margin, b_there.data() + margin);
    a_there.upload(other);  // a belongs to the caller
    EXPECT_EQ(comm.sum(1), comm.size());
    plan.wait();
    b_there.download(b);
    EXPECT_TRUE(b == wanted);
  }
}

/// A permutation of three axes and its inverse.
struct ThereAndBack {
  std::vector<int> axes, back;
  layout::ArrayGrid here, there;
};
/// Returns a slab transpose (of the first two axes), a pencil transpose (the cut moves to another
/// axis) and a rotation of the axes.
inline std::vector<ThereAndBack> slabs_and_pencils(index_t ranks) {
  constexpr index_t n0 = 21, n1 = 17, n2 = 30;
  const auto cut_along = [&](std::size_t cut, index_t i, index_t j, index_t k) {
    layout::ArrayGrid grid;
    for (const index_t extent : {i, j, k}) grid.axes.push_back(layout::in_shares({extent, 1}));
    grid.axes[cut] = layout::in_shares({grid.axes[cut].extent, ranks});
    return grid;
  };
  const layout::ArrayGrid here = cut_along(0, n0, n1, n2);
  return {{{1, 0, 2}, {1, 0, 2}, here, cut_along(0, n1, n0, n2)},
          {{0, 1, 2}, {0, 1, 2}, here, cut_along(2, n0, n1, n2)},
          {{2, 0, 1}, {1, 2, 0}, here, cut_along(0, n2, n0, n1)}};
}

}  // namespace tessera::dist::transpose
