#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "dist/sort/algorithms.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/everywhere.hpp"
#include "dist/sort/first_rows.hpp"

namespace tessera::dist::sort {
namespace {

using mpi::Communicator;

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

/// Texts that differ in their first words but for one pair, if any, which the last byte decides against the
/// order of rows.
TEST(Argsort, SortsByTheFirstWordWhereItDecidesAndByAllWhereNot) {
  const auto comm = Communicator::world();
  for (const index_t n : {3, 5000}) {
    const layout::BlockMap map(n, comm.size());
    const index_t border = comm.size() > 1 ? map.range(1).begin : 1;
    const std::pair<index_t, index_t> none{0, 0};
    for (const auto& [x, y] : {none, {0, n / 2}, {0, n - 1}, {border - 1, border}}) {
      std::vector<Table::Text> text(static_cast<std::size_t>(n));
      for (index_t i = 0; i < n; ++i) {  // in order, where the pair is to meet at a border
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
      std::stable_sort(expected.begin(), expected.end(), [&](auto p, auto q) { return text[p] < text[q]; });
      const layout::Range mine = map.range(comm.rank());
      std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()));
      mpi::Phases phases;
      argsort(comm, map, {{KeyForm::string(10), Table::part(text, mine.begin), Order::ascending}},
              {.threads = 2}, permutation.data(), phases);
      EXPECT_EQ(everywhere<std::uint64_t>(comm, permutation), expected);
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

TEST(Gather, GoesInRoundsWhereARankAsksForMuch) {
  const auto comm = Communicator::world();
  if (comm.size() != 4) return;  // one number of ranks for all: it takes its time
  const layout::BlockMap map(211, comm.size());
  const layout::Range mine = map.range(comm.rank());
  std::vector<std::uint8_t> column(static_cast<std::size_t>(mine.size()));
  std::iota(column.begin(), column.end(), static_cast<std::uint8_t>(mine.begin));
  std::vector<std::uint64_t> indices(static_cast<std::size_t>(comm.rank() == 2 ? requests_at_once + 5 : 3));
  for (std::size_t j = 0; j < indices.size(); ++j) indices[j] = (j * 7 + j / 1000) % 211;
  std::vector<std::uint8_t> to(indices.size());
  gather(comm, map, {reinterpret_cast<const std::byte*>(column.data()), 1}, indices,
         reinterpret_cast<std::byte*>(to.data()), 1);
  EXPECT_TRUE(std::equal(to.begin(), to.end(), indices.begin()));
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

/// The rows of the table in order, on each rank its own.
struct SortedTable {
  Table table;
  std::vector<std::uint64_t> permutation;
  std::vector<std::vector<std::byte>> data;  // of the columns, in the order of the permutation

  SortedTable(const Communicator& comm, index_t n) : table(n) {
    const layout::BlockMap map(n, comm.size());
    const auto columns = table.columns(map.range(comm.rank()).begin);
    permutation.resize(static_cast<std::size_t>(map.size(comm.rank())));
    mpi::Phases phases;
    argsort(comm, map, columns, {}, permutation.data(), phases);
    for (const KeyColumn& column : columns) {
      data.emplace_back(permutation.size() * static_cast<std::size_t>(column.form.bytes));
      gather(comm, map, {column.data, column.form.bytes}, permutation, data.back().data(), 1);
    }
  }
  [[nodiscard]] index_t faults(const Communicator& comm) const {
    auto columns = table.columns(0);
    OrderOfRows order(comm, permutation, columns.size(), 2);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].data = data[c].data();
      order.look_at(columns[c]);
    }
    return order.faults();
  }
  void swap_rows(std::size_t x, std::size_t y) {
    for (auto& column : data) {
      const auto bytes = static_cast<std::ptrdiff_t>(column.size() / permutation.size());
      const auto row = [&](std::size_t j) { return column.begin() + static_cast<std::ptrdiff_t>(j) * bytes; };
      std::swap_ranges(row(x), row(x) + bytes, row(y));
    }
  }
};

TEST(OrderOfRows, SeesEveryPairOutOfOrder) {
  const auto comm = Communicator::world();
  for (const index_t n : {0, 1, 2, 700}) EXPECT_EQ(SortedTable(comm, n).faults(comm), 0) << n;
  SortedTable rows(comm, 700);
  for (int guilty = 0; guilty < comm.size(); ++guilty) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{40}, rows.permutation.size() - 2}) {
      const bool here = comm.rank() == guilty;
      if (here) std::swap(rows.permutation[at], rows.permutation[at + 1]);
      if (here) rows.swap_rows(at, at + 1);  // rows that are equal are then against the order they came in
      EXPECT_GT(rows.faults(comm), 0) << "rank " << guilty << " row " << at;
      if (here) rows.swap_rows(at, at + 1);
      if (here) std::swap(rows.permutation[at], rows.permutation[at + 1]);
    }
  }
  EXPECT_EQ(rows.faults(comm), 0);
}

TEST(OrderOfRows, SeesRowsOutOfOrderPieceByPiece) {
  struct Row {
    std::uint32_t first;
    char second[12];
    std::uint64_t other;
  };
  const auto comm = Communicator::world();
  constexpr index_t n = 2600;
  std::vector<Row> rows(n);
  std::vector<std::uint64_t> permutation(n);
  for (std::size_t j = 0; j < rows.size();
       ++j) {  // by (first, -second), eight of each; as many on every rank
    rows[j] = {
        static_cast<std::uint32_t>(j / 400 + 10 * static_cast<std::size_t>(comm.rank())), {}, mix64(j)};
    rows[j].second[11] = static_cast<char>(100 - j % 400 / 8);
    permutation[j] = static_cast<std::uint64_t>(n * comm.rank()) + j;
  }
  const auto faults = [&](index_t piece) {
    OrderOfRows order(comm, permutation, 2, 1);
    const auto* const data = reinterpret_cast<const std::byte*>(rows.data());
    order.expect({{KeyForm::of(Element::u32), Order::ascending, offsetof(Row, first)},
                  {KeyForm::string(12), Order::descending, offsetof(Row, second)}},
                 sizeof(Row), data + (n - 1) * static_cast<index_t>(sizeof(Row)));
    for (index_t begin = (n - 1) / piece * piece; begin >= 0; begin -= piece) {
      const std::byte* const here = data + begin * static_cast<index_t>(sizeof(Row));
      order.look_at(here, here - (begin > 0 ? sizeof(Row) : 0), {begin, std::min(begin + piece, n)});
    }
    return order.faults();
  };
  for (const index_t piece : {8, 64, 1000, 1024, 1032, 4096}) {
    EXPECT_EQ(faults(piece), 0);
    for (const std::size_t at : {7U, 8U, 999U, 1023U, 1024U, 1031U, 2592U, 2598U}) {
      const auto turn = [&] {
        std::swap(rows[at], rows[at + 1]);
        std::swap(permutation[at], permutation[at + 1]);
      };
      turn();  // those that are equal are then against the order they came in
      EXPECT_GT(faults(piece), 0) << piece << " " << at;
      turn();
    }
    if (comm.size() == 1) continue;
    rows[0].first -= comm.rank() == 1 ? 7 : 0;  // below the last one of the rank before
    EXPECT_EQ(faults(piece), 1);
    rows[0].first += comm.rank() == 1 ? 7 : 0;
  }
}

TEST(OrderOfRows, SeesABorderBetweenRanksOutOfOrder) {
  const auto comm = Communicator::world();
  std::vector<std::uint64_t> permutation, values;  // the middle rank has none
  if (comm.size() < 3 || comm.rank() != 1) permutation = {static_cast<std::uint64_t>(10 * comm.rank())};
  const auto faults = [&](std::uint64_t value) {
    values = {value};
    OrderOfRows order(comm, permutation, 1, 1);
    order.look_at({KeyForm::of(Element::u64), reinterpret_cast<const std::byte*>(values.data())});
    return order.faults();
  };
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  EXPECT_EQ(faults(7), 0);
  EXPECT_EQ(faults(7 + rank), 0);
  const index_t borders = comm.size() < 3 ? comm.size() - 1 : comm.size() - 2;
  EXPECT_EQ(faults(77 - rank), borders);
  if (!permutation.empty()) permutation[0] = 1000 - permutation[0];
  EXPECT_EQ(faults(7), borders);  // of equal rows the one that came first is first
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

}  // namespace
}  // namespace tessera::dist::sort
