#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/everywhere.hpp"
#include "dist/sort/some_keys.hpp"
#include "dist/sort/splitting.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/gpu.hpp"

namespace tessera::dist::sort {
namespace {

namespace kernels = tessera::sort;
using mpi::Communicator;

template <class T>
void same_bytes(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0)
      << what;
}

/// Keys of every rank before and after the sort, with sentinels around both buffers.
template <class T>
class Held {
 public:
  Held(const Communicator& comm, index_t n, std::span<const T> mine)
      : room_(std::max(layout::BlockMap(n, comm.size()).size(comm.rank()),
                       static_cast<index_t>(mine.size()))) {
    for (auto* buffer : {&items_, &spare_}) {
      buffer->resize(static_cast<std::size_t>(room_ + 2));
      std::memset(buffer->data(), 0xA5, buffer->size() * sizeof(T));
    }
    std::copy(mine.begin(), mine.end(), items_.begin() + 1);
    n_ = static_cast<index_t>(mine.size());
  }
  [[nodiscard]] Room<T> room() { return {items_.data() + 1, spare_.data() + 1, n_}; }
  void check_sentinels() const {
    std::vector<T> sentinel(1);
    std::memset(sentinel.data(), 0xA5, sizeof(T));
    for (const auto* buffer : {&items_, &spare_}) {
      EXPECT_EQ(std::memcmp(&buffer->front(), sentinel.data(), sizeof(T)), 0);
      EXPECT_EQ(std::memcmp(&buffer->back(), sentinel.data(), sizeof(T)), 0);
    }
  }

 private:
  index_t room_, n_ = 0;
  std::vector<T> items_, spare_;
};

/// Sorts keys that the ranks hold in parts of the given sizes; returns the whole result on every
/// rank.
template <class T>
std::vector<T> sorted_by(const Communicator& comm, const std::vector<T>& all,
                         const std::vector<index_t>& offsets, Order order, const Method& method) {
  const auto r = static_cast<std::size_t>(comm.rank());
  const std::span<const T> mine(all.data() + offsets[r],
                                static_cast<std::size_t>(offsets[r + 1] - offsets[r]));
  const auto n = static_cast<index_t>(all.size());
  Held<T> held(comm, n, mine);
  const auto input = content(comm, mine, {7, 1});
  mpi::Phases phases;
  const index_t share = sort_keys(comm, held.room(), order, method, phases);
  EXPECT_EQ(share, layout::BlockMap(n, comm.size()).size(comm.rank()));
  held.check_sentinels();
  const std::span<const T> result(held.room().items, static_cast<std::size_t>(share));
  EXPECT_EQ(faults(comm, result, order, input, Hashing{7, 1}), 0);
  return everywhere(comm, result);
}

template <class T>
std::vector<T> sorted_alone(std::vector<T> keys, Order order) {
  std::vector<T> scratch(keys.size());
  kernels::sort_keys<T>("std", keys, scratch, order);
  return keys;
}

template <class T>
std::vector<T> made(const kernels::Input& input, index_t n) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  kernels::generate<T>(input, 3, 0, n, keys);
  return keys;
}

template <class T>
std::vector<T> with_special_values(std::vector<T> keys) {
  if constexpr (std::is_floating_point_v<T>) {
    using limits = std::numeric_limits<T>;
    const T special[] = {limits::quiet_NaN(), -limits::quiet_NaN(), T{0}, -T{0}, limits::infinity(),
                         -limits::infinity(), limits::denorm_min()};
    for (std::size_t i = 0; i < keys.size(); i += 5)
      keys[i] = special[(i / 5) % std::size(special)];
  }
  return keys;
}

template <class T>
class SortKeys : public testing::Test {};
using Types =
    testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(SortKeys, Types);

TYPED_TEST(SortKeys, GivesTheBytesOfOneRankForEveryInput) {
  const auto comm = Communicator::world();
  for (const kernels::Input& input : kernels::inputs()) {
    const auto keys = made<TypeParam>(input, 2011);
    const layout::BlockMap map(2011, comm.size());
    for (const auto& algorithm : algorithms()) {
      const Method method{.algorithm = algorithm.algorithm, .threads = 2};
      same_bytes(sorted_by(comm, keys, map.offsets(), Order::ascending, method),
                 sorted_alone(keys, Order::ascending), std::string(input.name));
    }
  }
}

TYPED_TEST(SortKeys, ServesAnyNumberOfKeys) {
  const auto comm = Communicator::world();
  const index_t p = comm.size();
  for (const index_t n :
       {index_t{0}, index_t{1}, index_t{2}, p - 1, p, p + 1, 3 * p + 2, index_t{997}}) {
    const auto keys = with_special_values(made<TypeParam>(kernels::input("dense"), n));
    const layout::BlockMap map(n, p);
    for (const auto& algorithm : algorithms()) {
      for (const Order order : {Order::ascending, Order::descending}) {
        same_bytes(sorted_by(comm, keys, map.offsets(), order, {.algorithm = algorithm.algorithm}),
                   sorted_alone(keys, order),
                   std::string(algorithm.name) + " " + std::to_string(n));
      }
    }
  }
}

TYPED_TEST(SortKeys, BalancesWhateverTheRanksStartWith) {
  const auto comm = Communicator::world();
  const index_t p = comm.size(), n = 1500;
  for (const char* name : {"uniform", "all_equal", "root_dup", "reverse"}) {
    const auto keys = with_special_values(made<TypeParam>(kernels::input(name), n));
    for (const index_t owner :
         {index_t{0}, p - 1, p / 2}) {  // one rank holds all, or all but a few
      for (const index_t others : {0, 3}) {
        std::vector<index_t> offsets{0};
        for (index_t r = 0; r < p; ++r)
          offsets.push_back(
              r == p - 1 ? n : offsets.back() + (r == owner ? n - (p - 1) * others : others));
        for (const auto& algorithm : algorithms()) {
          same_bytes(
              sorted_by(comm, keys, offsets, Order::descending, {.algorithm = algorithm.algorithm}),
              sorted_alone(keys, Order::descending), name);
        }
      }
    }
  }
}

TEST(SortKeys, EveryKernelServes) {
  const auto comm = Communicator::world();
  const auto keys = made<std::uint32_t>(kernels::input("dense"), 5000);
  const layout::BlockMap map(5000, comm.size());
  const bool gpu = !machine::gpus().devices.empty();
  for (const auto& kernel : kernels::variants()) {
    if (kernel.space == Space::device && !gpu) continue;
    const Method method{.kernel = std::string(kernel.name), .threads = 2};
    same_bytes(sorted_by(comm, keys, map.offsets(), Order::ascending, method),
               sorted_alone(keys, Order::ascending), std::string(kernel.name));
  }
}

TEST(SortKeys, WhatOneRankRefusesAllRefuse) {
  const auto comm = Communicator::world();
  std::vector<std::uint64_t> keys{1, 2}, spare(2 + 1);
  if (comm.rank() == comm.size() - 1) keys[1] = ~std::uint64_t{0};
  keys.push_back(0);
  mpi::Phases phases;
  EXPECT_THROW((void)sort_keys<std::uint64_t>(comm, {keys.data(), spare.data(), 2},
                                              Order::ascending, {.kernel = "counting"}, phases),
               Error);
}

TEST(ExactCuts, SplitTiesByRankAndIndex) {
  const auto comm = Communicator::world();
  const index_t p = comm.size();
  std::vector<std::uint64_t> run(static_cast<std::size_t>(10 + comm.rank()), 5);
  run.front() = 1;
  run.back() = 9;
  const index_t total = comm.sum(static_cast<index_t>(run.size()));
  for (const index_t position :
       {index_t{0}, index_t{1}, p, p + 1, p + 5, total / 2, total - p, total}) {
    const std::vector<index_t> positions{0, position, position, total};
    const auto cuts =
        exact_cuts<std::uint64_t>(comm, {run.data(), static_cast<index_t>(run.size())}, positions);
    EXPECT_EQ(cuts[1], cuts[2]);
    EXPECT_EQ(comm.sum(cuts[1]), position);
    const auto all = comm.all_gather(cuts[1]);
    if (position >= p && position <= total - p) {  // first the ones, then fives of lower ranks
      index_t fives = position - p;
      for (index_t r = 0; r < p; ++r) {
        const index_t taken = std::min<index_t>(fives, 8 + r);
        EXPECT_EQ(all[static_cast<std::size_t>(r)], 1 + taken);
        fives -= taken;
      }
    }
  }
}

TEST(ExactCuts, FindEveryPositionOfClusteredKeys) {
  const auto comm = Communicator::world();
  std::vector<std::uint64_t> run(3000);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto bits = random_bits(9, 1, static_cast<index_t>(i) * comm.size() + comm.rank());
    run[i] = bits % 3 == 0 ? bits : (std::uint64_t{1} << 40) + bits % 50;  // a few values make up
                                                                           // most keys
  }
  std::sort(run.begin(), run.end());
  const index_t total = comm.sum(index_t{3000});
  std::vector<index_t> positions{0};
  for (index_t position = 1; position < total; position += 97) positions.push_back(position);
  positions.push_back(total);
  const auto cuts = exact_cuts<std::uint64_t>(comm, {run.data(), 3000}, positions);
  const auto all = everywhere<std::uint64_t>(comm, run);
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t b = 1; b + 1 < positions.size(); ++b) {
    EXPECT_EQ(comm.sum(cuts[b]), positions[b]);
    const std::uint64_t at = sorted[static_cast<std::size_t>(positions[b])];
    const auto cut = static_cast<std::size_t>(cuts[b]);
    EXPECT_TRUE(cut == 0 || run[cut - 1] <= at);
    EXPECT_TRUE(cut == run.size() || run[cut] >= at);
  }
}

TEST(Faults, FindWhatIsWrong) {
  const auto comm = Communicator::world();
  const index_t n = 600;
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  std::vector<std::int64_t> keys(static_cast<std::size_t>(mine.size()));
  std::iota(keys.begin(), keys.end(), mine.begin - 100);
  const std::span<const std::int64_t> held(keys);
  const auto input = content(comm, held, {1, 1});
  EXPECT_EQ(faults(comm, held, Order::ascending, input, Hashing{1, 1}), 0);
  const bool guilty = comm.rank() == comm.size() / 2;
  if (guilty) std::swap(keys[3], keys[4]);
  EXPECT_GT(faults(comm, held, Order::ascending, input, Hashing{1, 1}), 0);  // order within a rank
  if (guilty) std::swap(keys[3], keys[4]);
  if (guilty) keys[3] = keys[4];
  EXPECT_GT(faults(comm, held, Order::ascending, input, Hashing{1, 1}), 0);  // in order, but not
                                                                             // the input's keys
  if (guilty) --keys[3];
  EXPECT_EQ(faults(comm, held, Order::ascending, input, Hashing{1, 1}), 0);
  if (comm.size() > 1) {  // all in order, but one rank has a key of the next one's share
    std::vector<std::int64_t> uneven(keys);
    if (comm.rank() == 0) uneven.push_back(uneven.back() + 1);
    if (comm.rank() == 1) uneven.erase(uneven.begin());
    EXPECT_EQ(
        faults(comm, std::span<const std::int64_t>(uneven), Order::ascending, input, Hashing{1, 1}),
        2);
  }
  if (comm.size() > 1) {  // every rank in order, but the ranks are not
    for (auto& key : keys) key -= 1000 * comm.rank();
    EXPECT_GT(faults(comm, held, Order::ascending, content(comm, held, {1, 1}), Hashing{1, 1}), 0);
  }
}

TYPED_TEST(SortKeys, FirstOnesAndDistinctOnes) {
  const auto comm = Communicator::world();
  using T = TypeParam;
  for (const char* name : {"uniform", "all_equal", "root_dup"}) {
    for (const Order order : {Order::ascending, Order::descending}) {
      const index_t n = 611;
      auto keys = with_special_values(made<T>(kernels::input(name), n));
      const layout::Range mine = layout::BlockMap(n, comm.size()).range(comm.rank());
      const std::span<const T> held(keys.data() + mine.begin,
                                    static_cast<std::size_t>(mine.size()));
      const auto sorted = sorted_alone(keys, order);
      mpi::Phases phases;
      for (const index_t count : {index_t{0}, index_t{1}, index_t{77}, n, n + 1}) {
        const auto first = sort_first<T>(comm, {held, count, order}, {}, phases);
        same_bytes(everywhere<T>(comm, first.span()),
                   std::vector<T>(sorted.begin(), sorted.begin() + std::min(count, n)), name);
        EXPECT_EQ(faults_of_first<T>(comm, {held, count, order}, first.span(), {5, 1}), 0);
        EXPECT_GT(
            faults_of_first<T>(comm, {held, count == 77 ? 78 : 77, order}, first.span(), {5, 1}),
            0);
      }
      const std::span<const T> share(sorted.data() + mine.begin, held.size());
      std::vector<T> distinct(share.size());
      distinct.resize(static_cast<std::size_t>(keep_distinct(comm, share, order, distinct.data())));
      EXPECT_EQ(faults_of_distinct<T>(comm, share, distinct, order), 0);
      auto want = sorted;
      const auto same = [](T a, T b) { return a == b || (a != a && b != b); };
      want.erase(std::unique(want.begin(), want.end(), same), want.end());
      same_bytes(everywhere<T>(comm, distinct), want, name);
      if (!distinct.empty()) distinct.pop_back();
      EXPECT_GT(faults_of_distinct<T>(comm, share, distinct, order), 0);
    }
  }
}

}  // namespace
}  // namespace tessera::dist::sort
