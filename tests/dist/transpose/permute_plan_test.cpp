// Plans that permute axes between random grids of ranks, against formulas by counting.

#include "dist/transpose/permute_plan.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "dist/relayout/placed.hpp"

namespace tessera::dist::transpose {
namespace {

using layout::ArrayGrid;
using layout::CyclicMap;
using mpi::Communicator;
using relayout::count_up;
using relayout::Cyclic1;
using relayout::pick;
using relayout::Random;

constexpr std::size_t margin = 64;
constexpr std::byte sentinel{0x5a};

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

Split any_split(Random& random, const std::vector<index_t>& shape, index_t ranks) {
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

void put(std::byte* to, index_t number, index_t bytes) {
  for (index_t k = 0; k < bytes; ++k)
    to[k] = static_cast<std::byte>(mix64(static_cast<std::uint64_t>(number * 131 + k)));
}

struct Case {
  std::vector<index_t> shape;
  std::vector<int> axes;
  Split a, b;
  index_t bytes;
};

Case any_case(Random& random, index_t ranks) {
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

/// Executes a case and compares, with sentinels around both shares.
void run(const Case& c, const Communicator& comm, int threads) {
  PermutePlan plan(comm, {c.a.grid, c.axes, c.b.grid, c.bytes}, threads);
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
  const std::vector<std::byte> kept = a;
  for (int k = 0; k < 2; ++k) {
    a = kept;
    std::fill(b.begin(), b.end(), sentinel);
    plan.start(a.data() + margin, b.data() + margin);
    std::fill(a.begin() + margin, a.end() - margin, std::byte{0x33});  // a belongs to the caller
    EXPECT_EQ(comm.sum(1), comm.size());
    plan.wait();
    EXPECT_TRUE(b == wanted);
  }
}

TEST(PermutePlan, PermutesAnyAxesBetweenAnyGrids) {
  const Communicator comm = Communicator::world();
  Random random(11);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Case c = any_case(random, comm.size());
    run(c, comm, 1 + round % 3);
  }
}

/// A slab transpose (of the first two axes), a pencil transpose (the cut moves to another axis),
/// and there and back by two plans in flight; nothing is allocated after the first execution.
TEST(PermutePlan, TransposesSlabsAndPencilsWithoutAllocation) {
  const Communicator comm = Communicator::world();
  const index_t n0 = 21, n1 = 17, n2 = 30, ranks = comm.size();
  const auto slabs = [&](index_t i, index_t j, index_t k, std::size_t cut) {
    ArrayGrid grid;
    for (const index_t extent : {i, j, k}) grid.axes.push_back(layout::in_shares({extent, 1}));
    grid.axes[cut] = layout::in_shares({grid.axes[cut].extent, ranks});
    return grid;
  };
  const std::vector<int> swap{1, 0, 2}, keep{0, 1, 2}, turn{2, 0, 1}, turn_back{1, 2, 0};
  const struct {
    const std::vector<int>&axes, &back;
    ArrayGrid there;
  } cases[] = {{swap, swap, slabs(n1, n0, n2, 0)},
               {keep, keep, slabs(n0, n1, n2, 2)},
               {turn, turn_back, slabs(n2, n0, n1, 0)}};
  for (const auto& [axes, back, there] : cases) {
    const ArrayGrid here = slabs(n0, n1, n2, 0);
    PermutePlan go(comm, {here, axes, there}, 2), come(comm, {there, back, here}, 2);
    std::vector<double> a(static_cast<std::size_t>(go.a_elements())), c(a.size()),
        b(static_cast<std::size_t>(go.b_elements()));
    std::iota(a.begin(), a.end(), 1e6 * comm.rank());
    const auto both = [&] {
      go.execute(a.data(), b.data());
      std::fill(c.begin(), c.end(), -1);
      come.execute(b.data(), c.data());
    };
    both();
    const std::size_t before = allocated_bytes();
    both();
    EXPECT_EQ(allocated_bytes() - before, 0U);
    EXPECT_EQ(c, a);
    EXPECT_EQ(comm.sum(go.sent_bytes()), comm.sum(come.sent_bytes()));
    if (ranks > 1) {
      EXPECT_GT(go.buffer_bytes(), 0);
    }
  }
}

TEST(PermutePlan, NamesTheArgumentThatIsWrong) {
  const Communicator comm = Communicator::world();
  const auto even = [&](index_t rows, index_t cols) {
    return ArrayGrid{{layout::in_shares({rows, comm.size()}), layout::in_shares({cols, 1})}};
  };
  const auto problem = [&](const ArrayPermutation& permutation) -> std::string {
    try {
      const PermutePlan plan(comm, permutation);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<int> turn{1, 0}, twice{0, 0}, one{0};
  const ArrayGrid many{{layout::in_shares({7, comm.size() + 1}), layout::in_shares({5, 1})}};
  const ArrayGrid short_list{even(7, 5).axes,
                             std::vector<index_t>(static_cast<std::size_t>(comm.size()) + 3, 0)};
  EXPECT_EQ(problem({even(5, 7), turn, even(7, 5)}), "");
  EXPECT_NE(problem({even(5, 7), turn, even(7, 6)}).find("b has 6 indices in axis 1"),
            std::string::npos);
  EXPECT_NE(problem({even(5, 7), twice, even(7, 5)}).find("axes"), std::string::npos);
  EXPECT_NE(problem({even(5, 7), one, even(7, 5)}).find("axes"), std::string::npos);
  EXPECT_NE(problem({even(5, 7), turn, even(7, 5), 0}).find("bytes is 0"), std::string::npos);
  EXPECT_NE(problem({even(5, 7), turn, many}).find("grid"), std::string::npos);
  EXPECT_NE(problem({even(5, 7), turn, short_list}).find("grid"), std::string::npos);
  EXPECT_NE(problem({{}, {}, {}}).find("a has no axes"), std::string::npos);
  PermutePlan plan(comm, {even(5, 7), turn, even(7, 5)});
  EXPECT_THROW(plan.wait(), Error);
  if (plan.b_elements() > 0) {
    EXPECT_THROW(plan.start(nullptr, nullptr), Error);
  }
}

}  // namespace
}  // namespace tessera::dist::transpose
