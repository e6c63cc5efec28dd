// Plans that permute axes between random grids of ranks, against formulas by counting.

#include "dist/transpose/permute_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/error.hpp"
#include "dist/transpose/permutations.hpp"

namespace tessera::dist::transpose {
namespace {

/// A share in memory of the host.
struct Here {
  explicit Here(const std::vector<std::byte>& bytes) : memory(bytes) {}
  std::byte* data() { return memory.data(); }
  void upload(const std::vector<std::byte>& bytes) { memory = bytes; }
  void download(std::vector<std::byte>& bytes) const { bytes = memory; }
  std::vector<std::byte> memory;
};

TEST(PermutePlan, PermutesAnyAxesBetweenAnyGrids) {
  const Communicator comm = Communicator::world();
  Random random(11);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Case c = any_case(random, comm.size());
    run<Here>(c, comm, [&](const ArrayPermutation& permutation) {
      return PermutePlan(comm, permutation, 1 + round % 3);
    });
  }
}

/// There and back by two plans; nothing is allocated after the first execution.
TEST(PermutePlan, TransposesSlabsAndPencilsWithoutAllocation) {
  const Communicator comm = Communicator::world();
  for (const auto& [axes, back, here, there] : slabs_and_pencils(comm.size())) {
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
    if (comm.size() > 1) {
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
