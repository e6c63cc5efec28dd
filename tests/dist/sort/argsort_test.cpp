#include "dist/sort/argsort.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "base/random.hpp"
#include "dist/sort/algorithms.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/everywhere.hpp"
#include "dist/sort/first_rows.hpp"
#include "dist/sort/table.hpp"

namespace tessera::dist::sort {
namespace {

using mpi::Communicator;

TEST(Argsort, IsStableAndTheSameOnAnyNumberOfRanks) {
  const auto comm = Communicator::world();
  for (const index_t n : {0, 1, 5, 200, 1203}) {  // 200: ties across whole ranks; 1203: several
                                                  // passes
    const Table table(n);
    const layout::BlockMap map(n, comm.size());
    const layout::Range mine = map.range(comm.rank());
    const auto columns = table.columns(mine.begin);
    for (const auto& algorithm : algorithms()) {
      std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()) + 1, 99999);
      mpi::Phases phases;
      argsort(comm, map, columns, {.algorithm = algorithm.algorithm, .threads = 2},
              permutation.data(), phases);
      EXPECT_EQ(permutation.back(), 99999U);
      permutation.pop_back();
      EXPECT_EQ(faults(comm, map, columns, permutation, {5, 2}), 0);
      EXPECT_EQ(everywhere<std::uint64_t>(comm, permutation), table.expected());
    }
  }
}

TEST(Argsort, OrdersZerosAndNansAsASortOfTheKeysDoes) {
  const auto comm = Communicator::world();
  const index_t n = 907;
  const Table table(n);
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  for (const Order order : {Order::ascending, Order::descending}) {
    std::vector<double> keys(table.a.begin() + mine.begin, table.a.begin() + mine.end),
        spare(keys.size());
    const std::vector<KeyColumn> columns{{KeyForm::of(Element::f64), Table::part(keys, 0), order}};
    std::vector<std::uint64_t> permutation(keys.size()), want, got;
    mpi::Phases phases;
    argsort(comm, map, columns, {.threads = 2}, permutation.data(), phases);
    EXPECT_EQ(faults(comm, map, columns, permutation, {5, 2}), 0);
    const auto all = everywhere<std::uint64_t>(comm, permutation);
    for (std::size_t j = 0; j < all.size(); ++j) {
      got.push_back(std::bit_cast<std::uint64_t>(table.a[all[j]]));
      EXPECT_TRUE(j == 0 || got[j] != got[j - 1] || all[j - 1] < all[j]);
    }
    (void)sort_keys(comm, Room<double>{keys.data(), spare.data(), mine.size()}, order, {}, phases);
    for (const double key : everywhere<double>(comm, keys))
      want.push_back(std::bit_cast<std::uint64_t>(key));
    EXPECT_EQ(got, want);
  }
}

TEST(Argsort, IsStableOfMoreRowsThanATaskTakes) {
  const auto comm = Communicator::world();
  constexpr index_t n = 70001;
  if (comm.size() > 1) return;
  const Table table(n);
  const layout::BlockMap map(n, 1);
  std::vector<std::uint64_t> permutation(n);
  mpi::Phases phases;
  argsort(comm, map, table.columns(0), {.threads = 2}, permutation.data(), phases);
  EXPECT_EQ(permutation, table.expected());
  EXPECT_EQ(faults(comm, map, table.columns(0), permutation, {5, 2}), 0);
}

/// Texts that differ in their first words except for one pair, if any, whose last byte contradicts
/// the order of rows.
TEST(Argsort, SortsByTheFirstWordWhereItDecidesAndByAllWhereNot) {
  const auto comm = Communicator::world();
  for (const index_t n : {3, 5000}) {
    const layout::BlockMap map(n, comm.size());
    const index_t border = comm.size() > 1 ? map.range(1).begin : 1;
    const std::pair<index_t, index_t> none{0, 0};
    for (const auto& [x, y] : {none, {0, n / 2}, {0, n - 1}, {border - 1, border}}) {
      std::vector<Table::Text> text(static_cast<std::size_t>(n));
      for (index_t i = 0; i < n; ++i) {  // in order, if the pair is to be at a border
        Table::Text& word = text[static_cast<std::size_t>(i)];
        for (std::size_t b = 0; b < word.size(); ++b)
          word[b] = static_cast<unsigned char>(random_bits(7, b, i) % 256);
        if (y == border) {
          word[0] = static_cast<unsigned char>(i / 256);
          word[1] = static_cast<unsigned char>(i % 256);
        }
      }
      if (x != y) {
        text[static_cast<std::size_t>(y)] = text[static_cast<std::size_t>(x)];
        text[static_cast<std::size_t>(x)][9] = 1;
        text[static_cast<std::size_t>(y)][9] = 0;
      }
      std::vector<std::uint64_t> expected(text.size());
      std::iota(expected.begin(), expected.end(), std::uint64_t{0});
      std::stable_sort(expected.begin(), expected.end(),
                       [&](auto p, auto q) { return text[p] < text[q]; });
      const layout::Range mine = map.range(comm.rank());
      std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()));
      mpi::Phases phases;
      argsort(comm, map, {{KeyForm::string(10), Table::part(text, mine.begin), Order::ascending}},
              {.threads = 2}, permutation.data(), phases);
      EXPECT_EQ(everywhere<std::uint64_t>(comm, permutation), expected);
    }
  }
}

/// Pairs and triples of rows are equal in one or two words, in several tasks of a rank.
TEST(Argsort, BreaksTiesWordByWord) {
  const auto comm = Communicator::world();
  const index_t n = 50000 * comm.size();
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  const auto word = [n](index_t i, std::uint64_t kind) {
    const index_t of_groups[] = {n, 3, 2 * n};
    return random_bits(9, kind, i) % static_cast<std::uint64_t>(of_groups[kind]) << 40;
  };
  std::vector<std::uint64_t> words[3];
  for (std::uint64_t kind = 0; kind < 3; ++kind)
    for (index_t i = 0; i < n; ++i) words[kind].push_back(word(i, kind));
  std::vector<std::uint64_t> expected(static_cast<std::size_t>(n)), permutation(50000);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  std::stable_sort(expected.begin(), expected.end(), [&](auto p, auto q) {
    return std::tie(words[0][p], words[1][p], words[2][p]) <
           std::tie(words[0][q], words[1][q], words[2][q]);
  });
  std::vector<KeyColumn> columns;
  for (const auto& some : words)
    columns.push_back({KeyForm::of(Element::u64), Table::part(some, mine.begin), Order::ascending});
  mpi::Phases phases;
  argsort(comm, map, columns, {.threads = 2}, permutation.data(), phases);
  EXPECT_EQ(everywhere<std::uint64_t>(comm, permutation), expected);
  EXPECT_EQ(faults(comm, map, columns, permutation, {5, 2}), 0);
}

/// Rows outside the sample have a common beginning.
TEST(Argsort, TakesPassesWhereTiesAreTooLong) {
  const auto comm = Communicator::world();
  constexpr index_t each = 40000, step = each / 16, seen = 64;
  const layout::BlockMap map(each * comm.size(), comm.size());
  const index_t first = map.begin(comm.rank());
  std::vector<std::uint64_t> high, low, permutation(static_cast<std::size_t>(each));
  for (index_t i = 0; i < each; ++i) {
    high.push_back(i % step < seen ? random_bits(8, 1, first + i) : std::uint64_t{1} << 63);
    low.push_back(random_bits(8, 2, first + i));
  }
  mpi::Phases phases;
  const std::vector<KeyColumn> columns{
      {KeyForm::of(Element::u64), Table::part(high, 0), Order::ascending},
      {KeyForm::of(Element::u64), Table::part(low, 0), Order::ascending}};
  argsort(comm, map, columns, {.threads = 2}, permutation.data(), phases);
  EXPECT_EQ(faults(comm, map, columns, permutation, {5, 2}), 0);
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

TEST(Gather, BringsElementsOfAnySize) {
  const auto comm = Communicator::world();
  const layout::BlockMap map(211, comm.size());
  const layout::Range mine = map.range(comm.rank());
  const auto value = [](index_t i, index_t b) { return static_cast<std::byte>(i * 31 + b * 7); };
  for (const index_t most : {index_t{50}, requests_at_once(8) + 3}) {  // per rank; with repetitions
    std::vector<std::uint64_t> indices;
    for (index_t j = 0; j < std::min(most, 50 * comm.rank() + (comm.rank() == 1 ? most : 0)); ++j)
      indices.push_back(random_bits(4, static_cast<std::uint64_t>(comm.rank()), j) % 211);
    Gather gather(comm, map, indices, 2);
    for (const index_t bytes : {1, 4, 7, 8, 24}) {
      std::vector<std::byte> column(static_cast<std::size_t>(mine.size() * bytes) + 1);
      for (index_t i = 0; i < mine.size() * bytes; ++i)
        column[static_cast<std::size_t>(i)] = value(mine.begin + i / bytes, i % bytes);
      std::vector<std::byte> to(indices.size() * static_cast<std::size_t>(bytes) + 1,
                                std::byte{0xEE});
      gather({column.data(), bytes}, to.data());
      index_t wrong = 0;
      for (std::size_t j = 0; j < indices.size(); ++j) {
        for (index_t b = 0; b < bytes; ++b)
          wrong += to[j * static_cast<std::size_t>(bytes) + static_cast<std::size_t>(b)] !=
                           value(static_cast<index_t>(indices[j]), b)
                       ? 1
                       : 0;
      }
      EXPECT_EQ(wrong, 0) << bytes << " bytes, at most " << most << " elements";
      EXPECT_EQ(to.back(), std::byte{0xEE});
    }
  }
}

TEST(Gather, MovesUnevenIndicesInParts) {
  const auto comm = Communicator::world();
  const index_t each = 20000, n = each * comm.size();
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  std::vector<std::uint64_t> column(static_cast<std::size_t>(each)), to(column.size());
  for (index_t i = 0; i < each; ++i)
    column[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(mine.begin + i) * 3;
  const auto check = [&](const auto& index) {
    std::vector<std::uint64_t> indices(column.size());
    for (index_t i = 0; i < each; ++i) indices[static_cast<std::size_t>(i)] = index(i);
    Gather gather(comm, map, indices, 2);
    for (int again = 0; again < 2; ++again) {
      std::fill(to.begin(), to.end(), 0);
      gather({reinterpret_cast<const std::byte*>(column.data()), 8},
             reinterpret_cast<std::byte*>(to.data()));
      index_t wrong = 0;
      for (std::size_t i = 0; i < to.size(); ++i) wrong += to[i] != indices[i] * 3 ? 1 : 0;
      EXPECT_EQ(wrong, 0);
    }
  };
  check([&](index_t i) { return static_cast<std::uint64_t>(n - 1 - mine.begin - i); });  // reversed
  check([&](index_t i) { return static_cast<std::uint64_t>(i); });  // all ask the first rank
}

TEST(Gather, ReplacesIndicesByTheirElements) {
  const auto comm = Communicator::world();
  for (const index_t each : {index_t{3}, index_t{1} << 14, (index_t{1} << 19) + 5}) {
    const layout::BlockMap map(each * comm.size(), comm.size());
    const index_t first = map.begin(comm.rank());
    std::vector<std::uint64_t> column(static_cast<std::size_t>(each)), rows(column.size());
    const auto index = [&](index_t i) {
      return random_bits(6, 1, first + i) % static_cast<std::uint64_t>(map.extent());
    };
    for (index_t i = 0; i < each; ++i) {
      column[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(first + i) * 3;
      rows[static_cast<std::size_t>(i)] = index(i);
    }
    gather<std::uint64_t>(comm, map, column.data(), rows, rows.data(), 2);
    index_t wrong = 0;
    for (index_t i = 0; i < each; ++i)
      wrong += rows[static_cast<std::size_t>(i)] != 3 * index(i) ? 1 : 0;
    EXPECT_EQ(wrong, 0) << each;
  }
}

TEST(GatherBytes, AreFewInManyRounds) {
  for (const index_t share : {index_t{1} << 20, index_t{1} << 24})
    EXPECT_LE(gather_once_bytes(3, share, 8), share * 5 / 2);
  EXPECT_EQ(gather_once_bytes(3, 1000, 8), gather_bytes(3, 1000, 8));
}

TEST(GatherBytes, AreBoundedForAnyIndices) {
  const index_t share = 300'000;
  EXPECT_EQ(gather_bytes(1, share, 8), 0);
  for (const index_t ranks : {2, 3, 64}) {
    EXPECT_LE(gather_bytes(ranks, share, 8), share * (8 + 4 + 8 + 8 + 8));
    EXPECT_GE(gather_bytes(ranks, share, 8), share * (8 + 4) + share * (ranks - 1) / ranks * 24);
  }
  EXPECT_LT(gather_bytes(3, share, 8), share * (8 + 4) + share * 24 * 71 / 100);
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
  SortedDigits kept;
  argsort(comm, map, columns, {}, permutation.data(), phases, &kept);
  for (const int b : {1, 0, -1}) {
    for (std::uint64_t c = 0; c < 4; ++c) {
      for (std::uint64_t i = 0;; ++i) {
        if (table.b[i] != b || table.c[i] != c) continue;
        want.push_back(i);
        break;
      }
    }
  }
  EXPECT_EQ(everywhere<std::uint64_t>(comm, first_of_each(comm, map, columns, permutation, 2)),
            want);
  EXPECT_EQ(everywhere<std::uint64_t>(comm, first_of_each(comm, kept.pairs.span())), want);
}

}  // namespace
}  // namespace tessera::dist::sort
