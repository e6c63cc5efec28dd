#include "kernels/sort/runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

template <class Item>
Item item(std::uint64_t key, std::uint64_t index) {
  if constexpr (std::is_same_v<Item, Pair>)
    return {key, index};
  else
    return static_cast<Item>(key + 0 * index);
}

template <class Item>
struct Runs : testing::Test {
  std::vector<std::vector<Item>> memory;
  std::vector<sort::Run<Item>> runs;
  std::vector<Item> all;

  /// Makes k sorted runs of different lengths, some empty, with keys below `range`; indices ascend
  /// across runs.
  void make(std::size_t k, index_t n, std::uint64_t range) {
    memory.clear();
    runs.clear();
    all.clear();
    std::uint64_t index = 0;
    for (std::size_t r = 0; r < k; ++r) {
      const auto length = r % 5 == 3 ? 0
                                     : random_bits(k, 1, static_cast<index_t>(r)) %
                                           static_cast<std::uint64_t>(n + 1);
      memory.emplace_back();
      for (std::uint64_t i = 0; i < length; ++i) {
        memory.back().push_back(
            item<Item>(random_bits(k, 2, static_cast<index_t>(index)) % range, index));
        ++index;
      }
      std::sort(memory.back().begin(), memory.back().end());
      all.insert(all.end(), memory.back().begin(), memory.back().end());
    }
    for (const auto& run : memory) runs.push_back({run.data(), static_cast<index_t>(run.size())});
    std::sort(all.begin(), all.end());
  }
};
using Items = testing::Types<std::uint32_t, std::uint64_t, Pair>;
TYPED_TEST_SUITE(Runs, Items);

TYPED_TEST(Runs, MergeToTheSortedWhole) {
  for (const std::size_t k : {0U, 1U, 2U, 3U, 4U, 7U, 16U, 33U}) {
    for (const std::uint64_t range : {1u, 3u, 1000000000u}) {
      for (const index_t n : {1, 50, 20000}) {
        this->make(k, n, range);
        std::vector<TypeParam> to(this->all.size() + 1, item<TypeParam>(99, 99));
        machine::parallel(3, [&] { merge_runs<TypeParam>(this->runs, to.data()); });
        ASSERT_EQ(to.back(), item<TypeParam>(99, 99)) << "wrote behind the end";
        to.pop_back();
        ASSERT_TRUE(to == this->all) << "k " << k << " range " << range << " n " << n;
      }
    }
  }
}

TYPED_TEST(Runs, CutsTakeExactlyTheSmallest) {
  for (const std::size_t k : {1U, 2U, 5U, 13U}) {
    for (const std::uint64_t range : {1u, 4u, 1000000000u}) {
      this->make(k, 300, range);
      const auto total = static_cast<index_t>(this->all.size());
      for (index_t rank = 0; rank <= total; rank += std::max<index_t>(1, total / 17)) {
        const auto cuts = select_cuts<TypeParam>(this->runs, rank);
        ASSERT_EQ(std::accumulate(cuts.begin(), cuts.end(), index_t{0}), rank);
        std::vector<TypeParam> taken;
        bool later_must_be_full = false;
        for (std::size_t r = k;
             r-- > 0;) {  // of equal items all of an earlier run precede those of a later one
          taken.insert(taken.end(), this->memory[r].begin(), this->memory[r].begin() + cuts[r]);
          if (rank == 0) continue;
          const auto& last = this->all[static_cast<std::size_t>(rank - 1)];
          const auto [first, end] =
              std::equal_range(this->memory[r].begin(), this->memory[r].end(), last);
          const auto cut = this->memory[r].begin() + cuts[r];
          ASSERT_TRUE(!later_must_be_full || cut == end);
          later_must_be_full |= cut > first;
        }
        std::sort(taken.begin(), taken.end());
        ASSERT_TRUE(std::equal(taken.begin(), taken.end(), this->all.begin())) << "rank " << rank;
      }
    }
  }
}

TYPED_TEST(Runs, RanksCountBelowAndEqual) {
  this->make(1, 500, 40);
  std::vector<TypeParam> splitters;
  for (std::uint64_t s = 0; s < 45; s += 2) splitters.push_back(item<TypeParam>(s, s % 3));
  std::vector<Rank> ranks(splitters.size());
  ranks_of<TypeParam>(this->runs[0], splitters, ranks);
  for (std::size_t i = 0; i < splitters.size(); ++i) {
    const auto below = std::count_if(this->all.begin(), this->all.end(),
                                     [&](const auto& x) { return x < splitters[i]; });
    EXPECT_EQ(ranks[i],
              (Rank{below, std::count(this->all.begin(), this->all.end(), splitters[i])}));
  }
}

}  // namespace
}  // namespace tessera::sort
