#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/some_keys.hpp"
#include "dist/sort/splitting.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

namespace kernels = tessera::sort;
using mpi::Communicator;

/// The whole on every rank, from parts of any sizes.
template <class T>
std::vector<T> everywhere(const Communicator& comm, std::span<const T> mine) {
  const auto p = static_cast<std::size_t>(comm.size());
  const std::vector<index_t> from = comm.all_gather(static_cast<index_t>(mine.size()));
  const std::vector<index_t> to(p, static_cast<index_t>(mine.size()));
  std::vector<T> copies, all(static_cast<std::size_t>(std::accumulate(from.begin(), from.end(), index_t{0})));
  for (std::size_t r = 0; r < p; ++r) copies.insert(copies.end(), mine.begin(), mine.end());
  mpi::exchange_items(comm, std::span<const T>(copies), to, std::span<T>(all), from);
  return all;
}

template <class T>
void same_bytes(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0) << what;
}

/// Keys as every rank holds them before and after, with sentinels around both rooms.
template <class T>
class Held {
 public:
  Held(const Communicator& comm, index_t n, std::span<const T> mine)
      : room_(
            std::max(layout::BlockMap(n, comm.size()).size(comm.rank()), static_cast<index_t>(mine.size()))) {
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

/// Sorts keys that the ranks hold in parts of the given sizes; the whole result, on every rank.
template <class T>
std::vector<T> sorted_by(const Communicator& comm, const std::vector<T>& all,
                         const std::vector<index_t>& offsets, Order order, const Method& method) {
  const auto r = static_cast<std::size_t>(comm.rank());
  const std::span<const T> mine(all.data() + offsets[r],
                                static_cast<std::size_t>(offsets[r + 1] - offsets[r]));
  const auto n = static_cast<index_t>(all.size());
  Held<T> held(comm, n, mine);
  const auto input = content(comm, mine, 7, 1);
  mpi::Phases phases;
  const index_t share = sort_keys(comm, held.room(), order, method, phases);
  EXPECT_EQ(share, layout::BlockMap(n, comm.size()).size(comm.rank()));
  held.check_sentinels();
  const std::span<const T> result(held.room().items, static_cast<std::size_t>(share));
  EXPECT_EQ(faults(comm, result, order, input, 7, 1), 0);
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
    for (std::size_t i = 0; i < keys.size(); i += 5) keys[i] = special[(i / 5) % std::size(special)];
  }
  return keys;
}

template <class T>
class SortKeys : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
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
  for (const index_t n : {index_t{0}, index_t{1}, index_t{2}, p - 1, p, p + 1, 3 * p + 2, index_t{997}}) {
    const auto keys = with_special_values(made<TypeParam>(kernels::input("dense"), n));
    const layout::BlockMap map(n, p);
    for (const auto& algorithm : algorithms()) {
      for (const Order order : {Order::ascending, Order::descending}) {
        same_bytes(sorted_by(comm, keys, map.offsets(), order, {.algorithm = algorithm.algorithm}),
                   sorted_alone(keys, order), std::string(algorithm.name) + " " + std::to_string(n));
      }
    }
  }
}

TYPED_TEST(SortKeys, BalancesWhateverTheRanksStartWith) {
  const auto comm = Communicator::world();
  const index_t p = comm.size(), n = 1500;
  for (const char* name : {"uniform", "all_equal", "root_dup", "reverse"}) {
    const auto keys = with_special_values(made<TypeParam>(kernels::input(name), n));
    for (const index_t owner : {index_t{0}, p - 1, p / 2}) {  // one holds all, and one all but a few
      for (const index_t others : {0, 3}) {
        std::vector<index_t> offsets{0};
        for (index_t r = 0; r < p; ++r)
          offsets.push_back(r == p - 1 ? n : offsets.back() + (r == owner ? n - (p - 1) * others : others));
        for (const auto& algorithm : algorithms()) {
          same_bytes(sorted_by(comm, keys, offsets, Order::descending, {.algorithm = algorithm.algorithm}),
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
  for (const auto& kernel : kernels::variants()) {
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
  EXPECT_THROW((void)sort_keys<std::uint64_t>(comm, {keys.data(), spare.data(), 2}, Order::ascending,
                                              {.kernel = "counting"}, phases),
               Error);
}

TEST(ExactCuts, SplitTiesByRankAndIndex) {
  const auto comm = Communicator::world();
  const index_t p = comm.size();
  std::vector<std::uint64_t> run(static_cast<std::size_t>(10 + comm.rank()), 5);
  run.front() = 1;
  run.back() = 9;
  const index_t total = comm.sum(static_cast<index_t>(run.size()));
  for (const index_t position : {index_t{0}, index_t{1}, p, p + 1, p + 5, total / 2, total - p, total}) {
    const std::vector<index_t> positions{0, position, position, total};
    const auto cuts =
        exact_cuts<std::uint64_t>(comm, {run.data(), static_cast<index_t>(run.size())}, positions);
    EXPECT_EQ(cuts[1], cuts[2]);
    EXPECT_EQ(comm.sum(cuts[1]), position);
    const auto all = comm.all_gather(cuts[1]);
    if (position >= p && position <= total - p) {  // the ones first, then fives of lower ranks first
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
    run[i] = bits % 3 == 0 ? bits : (std::uint64_t{1} << 40) + bits % 50;  // a few values hold most keys
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

TEST(Gather, BringsElementsOfAnySize) {
  const auto comm = Communicator::world();
  for (const index_t bytes : {1, 4, 7, 8, 24}) {
    const layout::BlockMap map(211, comm.size());
    const layout::Range mine = map.range(comm.rank());
    const auto value = [](index_t i, index_t b) { return static_cast<std::byte>(i * 31 + b * 7); };
    std::vector<std::byte> column(static_cast<std::size_t>(mine.size() * bytes) + 1);
    for (index_t i = 0; i < mine.size() * bytes; ++i)
      column[static_cast<std::size_t>(i)] = value(mine.begin + i / bytes, i % bytes);
    std::vector<std::uint64_t> indices;  // as many as the rank says, with repetitions
    for (index_t j = 0; j < 50 * comm.rank(); ++j)
      indices.push_back(random_bits(4, static_cast<std::uint64_t>(comm.rank()), j) % 211);
    std::vector<std::byte> to(indices.size() * static_cast<std::size_t>(bytes) + 1, std::byte{0xEE});
    gather(comm, map, {column.data(), bytes}, indices, to.data(), 2);
    for (std::size_t j = 0; j < indices.size(); ++j) {
      for (index_t b = 0; b < bytes; ++b)
        EXPECT_EQ(to[j * static_cast<std::size_t>(bytes) + static_cast<std::size_t>(b)],
                  value(static_cast<index_t>(indices[j]), b));
    }
    EXPECT_EQ(to.back(), std::byte{0xEE});
  }
}

/// A table of columns in parts, and the reference permutation.
struct Table {
  using Text = std::array<unsigned char, 10>;
  std::vector<Text> text;
  std::vector<double> a;
  std::vector<std::int32_t> b;
  std::vector<std::uint64_t> c;

  explicit Table(index_t n) {
    const double special[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(),
                              -std::numeric_limits<double>::quiet_NaN(), 1.5};
    for (index_t i = 0; i < n; ++i) {
      a.push_back(special[random_bits(1, 1, i) % 5]);
      b.push_back(static_cast<std::int32_t>(random_bits(1, 2, i) % 3) - 1);
      c.push_back(random_bits(1, 3, i) % 4);
      Text word{};  // differing in the first word, in the second, or not at all
      word[random_bits(1, 4, i) % 2 * 8] = static_cast<unsigned char>(random_bits(1, 5, i) % 2 * 200);
      text.push_back(word);
    }
  }

  template <class T>
  static const std::byte* part(const std::vector<T>& column, index_t first) {
    return reinterpret_cast<const std::byte*>(column.data() + first);
  }
  /// text descending, a ascending, b descending, c ascending.
  [[nodiscard]] std::vector<KeyColumn> columns(index_t first) const {
    return {{KeyForm::string(10), part(text, first), Order::descending},
            {KeyForm::of(Element::f64), part(a, first), Order::ascending},
            {KeyForm::of(Element::i32), part(b, first), Order::descending},
            {KeyForm::of(Element::u64), part(c, first), Order::ascending}};
  }
  [[nodiscard]] std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> order(a.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    const auto number = [&](std::uint64_t i) {
      return std::pair(std::isnan(a[i]), std::isnan(a[i]) ? 0 : a[i]);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t x, std::uint64_t y) {
      if (text[x] != text[y]) return text[x] > text[y];
      if (number(x) != number(y)) return number(x) < number(y);
      if (b[x] != b[y]) return b[x] > b[y];
      return c[x] < c[y];
    });
    return order;
  }
};

TEST(Argsort, IsStableAndTheSameOnAnyNumberOfRanks) {
  const auto comm = Communicator::world();
  for (const index_t n : {0, 1, 5, 1203}) {
    const Table table(n);
    const layout::BlockMap map(n, comm.size());
    const layout::Range mine = map.range(comm.rank());
    const auto columns = table.columns(mine.begin);
    for (const auto& algorithm : algorithms()) {
      std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()) + 1, 99999);
      mpi::Phases phases;
      argsort(comm, map, columns, {.algorithm = algorithm.algorithm, .threads = 2}, permutation.data(),
              phases);
      EXPECT_EQ(permutation.back(), 99999U);
      permutation.pop_back();
      EXPECT_EQ(faults(comm, map, columns, permutation, 5, 2), 0);
      EXPECT_EQ(everywhere<std::uint64_t>(comm, permutation), table.expected());
    }
  }
}

TEST(PackKeys, LeavesOutWhatNeverDiffersAndSharesDigits) {
  const auto comm = Communicator::world();
  const std::vector<std::int32_t> small{5, 6, 8};
  const std::vector<double> equal{2.5, 2.5, 2.5};
  const std::vector<std::uint64_t> wide{0, 1, ~std::uint64_t{0}};
  const KeyColumn a{KeyForm::of(Element::i32), Table::part(small, 0), Order::ascending};
  const KeyColumn b{KeyForm::of(Element::f64), Table::part(equal, 0), Order::ascending};
  const KeyColumn c{KeyForm::of(Element::u64), Table::part(wide, 0), Order::ascending};
  EXPECT_TRUE(pack_keys(comm, {b, b}, 3, 1).empty());
  EXPECT_TRUE(pack_keys(comm, {a, c}, 0, 1).empty());
  EXPECT_EQ(pack_keys(comm, {a, b, c}, 3, 1).size(), 2U);
  const auto digits = pack_keys(comm, {a, b, a}, 3, 1);
  ASSERT_EQ(digits.size(), 1U);
  std::vector<std::uint64_t> digit(3), scratch(3);
  key_digit({a, b, a}, digits[0], 3, digit.data(), scratch.data(), 1);
  EXPECT_EQ(digit, (std::vector<std::uint64_t>{0, 5, 15}));  // two digits of base 4
}

TEST(Faults, FindWhatIsWrong) {
  const auto comm = Communicator::world();
  const index_t n = 600;
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  std::vector<std::int64_t> keys(static_cast<std::size_t>(mine.size()));
  std::iota(keys.begin(), keys.end(), mine.begin - 100);
  const std::span<const std::int64_t> held(keys);
  const auto input = content(comm, held, 1, 1);
  EXPECT_EQ(faults(comm, held, Order::ascending, input, 1, 1), 0);
  const bool guilty = comm.rank() == comm.size() / 2;
  if (guilty) std::swap(keys[3], keys[4]);
  EXPECT_GT(faults(comm, held, Order::ascending, input, 1, 1), 0);  // order inside
  if (guilty) std::swap(keys[3], keys[4]);
  if (guilty) keys[3] = keys[4];
  EXPECT_GT(faults(comm, held, Order::ascending, input, 1, 1), 0);  // in order, but not the input
  if (guilty) --keys[3];
  EXPECT_EQ(faults(comm, held, Order::ascending, input, 1, 1), 0);
  if (comm.size() > 1) {  // every rank in order, but not one after the other
    for (auto& key : keys) key -= 1000 * comm.rank();
    EXPECT_GT(faults(comm, held, Order::ascending, content(comm, held, 1, 1), 1, 1), 0);
  }
}

TEST(Faults, FindAPermutationThatIsNone) {
  const auto comm = Communicator::world();
  const Table table(300);
  const layout::BlockMap map(300, comm.size());
  const layout::Range mine = map.range(comm.rank());
  const auto columns = table.columns(mine.begin);
  std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()));
  mpi::Phases phases;
  argsort(comm, map, columns, {}, permutation.data(), phases);
  for (int guilty = 0; guilty < comm.size(); ++guilty) {
    const bool here = comm.rank() == guilty;
    if (here) std::swap(permutation[0], permutation[1]);
    EXPECT_GT(faults(comm, map, columns, permutation, 1, 1), 0);
    if (here) std::swap(permutation[0], permutation[1]);
    const auto kept = permutation[0];
    if (here) permutation[0] = permutation[1];
    EXPECT_FALSE(is_permutation(comm, map, permutation, 1));
    permutation[0] = kept;
  }
  EXPECT_EQ(faults(comm, map, columns, permutation, 1, 1), 0);
}

TEST(CarriedWhole, SeesWhatAPermutationOrAPartOfItLost) {
  const auto comm = Communicator::world();
  const layout::BlockMap map(500, comm.size());
  const layout::Range mine = map.range(comm.rank());
  std::vector<std::uint64_t> column;
  for (index_t i = mine.begin; i < mine.end; ++i) column.push_back(random_bits(2, 2, i));
  const auto view = [](const std::vector<std::uint64_t>& values) {
    return ColumnView{reinterpret_cast<const std::byte*>(values.data()), 8};
  };
  for (const index_t step : {1, 3}) {  // every row, or some, from the last one down
    std::vector<std::uint64_t> carried, permutation;
    for (index_t i = mine.begin; i < mine.end; i += step) {
      permutation.push_back(static_cast<std::uint64_t>(499 - i));
      carried.push_back(random_bits(2, 2, 499 - i));
    }
    EXPECT_TRUE(carried_whole(comm, map, view(column), view(carried), permutation, 3, 2));
    if (comm.rank() == comm.size() - 1) std::swap(carried[0], carried[1]);
    EXPECT_FALSE(carried_whole(comm, map, view(column), view(carried), permutation, 3, 2));
  }
}

TEST(ArgsortFirst, IsTheBeginningOfArgsort) {
  const auto comm = Communicator::world();
  const index_t n = 403;
  const Table table(n);
  const layout::BlockMap map(n, comm.size());
  const auto columns = table.columns(map.begin(comm.rank()));
  const std::vector<KeyColumn> equal(1, columns[0]);  // many ties: the lowest indices come first
  auto expected = table.expected();
  for (const index_t count : {index_t{0}, index_t{1}, index_t{2}, index_t{100}, n - 1, n, n + 5}) {
    mpi::Phases phases;
    const auto first = argsort_first(comm, map, columns, count, {}, phases);
    const auto want = std::vector(expected.begin(), expected.begin() + std::min(count, n));
    EXPECT_EQ(everywhere<std::uint64_t>(comm, first), want) << count;
    EXPECT_EQ(faults_of_first(comm, map, columns, first, 2), 0) << count;
    const auto ties = argsort_first(comm, map, equal, count, {}, phases);
    EXPECT_EQ(faults_of_first(comm, map, equal, ties, 1), 0) << count;
    auto wrong = first;
    if (!wrong.empty() && count == 100) wrong.back() = expected[200];
    EXPECT_EQ(faults_of_first(comm, map, columns, wrong, 2) > 0, count == 100);
  }
}

TEST(FirstOfEach, KeepsTheFirstRowOfEveryKey) {
  const auto comm = Communicator::world();
  const index_t n = 700;
  const Table table(n);
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  const std::vector<KeyColumn> columns{table.columns(mine.begin)[2], table.columns(mine.begin)[3]};
  std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size())), want;
  mpi::Phases phases;
  argsort(comm, map, columns, {}, permutation.data(), phases);
  for (const int b : {1, 0, -1}) {
    for (std::uint64_t c = 0; c < 4; ++c) {
      for (std::uint64_t i = 0;; ++i) {
        if (table.b[i] != b || table.c[i] != c) continue;
        want.push_back(i);
        break;
      }
    }
  }
  EXPECT_EQ(everywhere<std::uint64_t>(comm, first_of_each(comm, map, columns, permutation, 2)), want);
}

TYPED_TEST(SortKeys, FirstOnesAndDistinctOnes) {
  const auto comm = Communicator::world();
  using T = TypeParam;
  for (const char* name : {"uniform", "all_equal", "root_dup"}) {
    for (const Order order : {Order::ascending, Order::descending}) {
      const index_t n = 611;
      auto keys = with_special_values(made<T>(kernels::input(name), n));
      const layout::Range mine = layout::BlockMap(n, comm.size()).range(comm.rank());
      const std::span<const T> held(keys.data() + mine.begin, static_cast<std::size_t>(mine.size()));
      const auto sorted = sorted_alone(keys, order);
      mpi::Phases phases;
      for (const index_t count : {index_t{0}, index_t{1}, index_t{77}, n, n + 1}) {
        const auto first = sort_first(comm, held, count, order, {}, phases);
        same_bytes(everywhere<T>(comm, first.span()),
                   std::vector<T>(sorted.begin(), sorted.begin() + std::min(count, n)), name);
        EXPECT_EQ(faults_of_first(comm, held, count, first.span(), order, 5, 1), 0);
        EXPECT_GT(faults_of_first(comm, held, count == 77 ? 78 : 77, first.span(), order, 5, 1), 0);
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
