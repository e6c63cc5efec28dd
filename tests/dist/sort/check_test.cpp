// Detection by the checks of permutations and of row order.

#include "dist/sort/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "dist/sort/table.hpp"

namespace tessera::dist::sort {
namespace {

using mpi::Communicator;

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
    EXPECT_GT(faults(comm, map, columns, permutation, {1, 1}), 0);
    if (here) std::swap(permutation[0], permutation[1]);
    const auto kept = permutation[0];
    if (here) permutation[0] = permutation[1];
    EXPECT_FALSE(is_permutation(comm, map, permutation, {1, 1}));
    permutation[0] = kept;
  }
  EXPECT_EQ(faults(comm, map, columns, permutation, {1, 1}), 0);
}

/// The rows of the table in order; each rank holds its part.
struct SortedTable {
  Table table;
  std::vector<std::uint64_t> permutation;
  std::vector<std::vector<std::byte>> data;  // per column, in the order of the permutation

  SortedTable(const Communicator& comm, index_t n) : table(n) {
    const layout::BlockMap map(n, comm.size());
    const auto columns = table.columns(map.range(comm.rank()).begin);
    permutation.resize(static_cast<std::size_t>(map.size(comm.rank())));
    mpi::Phases phases;
    argsort(comm, map, columns, {}, permutation.data(), phases);
    Gather gather(comm, map, permutation, 1);
    for (const KeyColumn& column : columns) {
      data.emplace_back(permutation.size() * static_cast<std::size_t>(column.form.bytes));
      gather({column.data, column.form.bytes}, data.back().data());
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
      const auto row = [&](std::size_t j) {
        return column.begin() + static_cast<std::ptrdiff_t>(j) * bytes;
      };
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
      if (here) rows.swap_rows(at, at + 1);  // now equal rows are not in input order
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
       ++j) {  // by (first, -second), eight of each; equally many on every rank
    rows[j] = {static_cast<std::uint32_t>(j / 400 + 10 * static_cast<std::size_t>(comm.rank())),
               {},
               mix64(j)};
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
      order.look_at(here, here - (begin > 0 ? sizeof(Row) : 0),
                    {begin, std::min(begin + piece, n)});
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
      turn();  // now equal rows are not in input order
      EXPECT_GT(faults(piece), 0) << piece << " " << at;
      turn();
    }
    if (comm.size() == 1) continue;
    rows[0].first -= comm.rank() == 1 ? 7 : 0;  // below the last row of the preceding rank
    EXPECT_EQ(faults(piece), 1);
    rows[0].first += comm.rank() == 1 ? 7 : 0;
  }
}

TEST(OrderOfRows, SeesABorderBetweenRanksOutOfOrder) {
  const auto comm = Communicator::world();
  std::vector<std::uint64_t> permutation, values;  // the middle rank is empty
  if (comm.size() < 3 || comm.rank() != 1)
    permutation = {static_cast<std::uint64_t>(10 * comm.rank())};
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
  EXPECT_EQ(faults(7), borders);  // equal rows must be in input order
}

TEST(OrderOfRows, SeesTheOrderBetweenItsTasks) {
  const auto comm = Communicator::world();
  constexpr std::size_t n = std::size_t{1} << 17;  // per rank: rows of two tasks
  std::vector<std::uint64_t> rows(n), permutation(n);
  std::iota(rows.begin(), rows.end(), n * static_cast<std::size_t>(comm.rank()));
  permutation = rows;
  const KeyColumn column{KeyForm::of(Element::u64), Table::part(rows, 0), Order::ascending};
  const auto faults = [&] {
    OrderOfRows order(comm, permutation, 1, 2);
    order.look_at(column);
    return order.faults();
  };
  EXPECT_EQ(faults(), 0);
  rows[n / 2] = rows[0];
  EXPECT_EQ(faults(), comm.size());
  std::fill(rows.begin(), rows.end(), std::uint64_t{7});
  std::swap(permutation[n / 2 - 1],
            permutation[n / 2]);  // equal, but not in input order
  EXPECT_EQ(faults(), comm.size());
  const layout::BlockMap map(static_cast<index_t>(n) * comm.size(), comm.size());
  EXPECT_TRUE(is_permutation(comm, map, permutation, {1, 1}));
  EXPECT_GT(dist::sort::faults(comm, map, {column}, permutation, {1, 2}), 0);
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
  for (const index_t step : {1, 3}) {  // every row, or some, in descending order
    std::vector<std::uint64_t> carried, permutation;
    for (index_t i = mine.begin; i < mine.end; i += step) {
      permutation.push_back(static_cast<std::uint64_t>(499 - i));
      carried.push_back(random_bits(2, 2, 499 - i));
    }
    const auto named = named_here(comm, map, permutation, 2);
    EXPECT_TRUE(
        carried_whole(comm, map, {view(column), view(carried), permutation, named}, {3, 2}));
    if (comm.rank() == comm.size() - 1) std::swap(carried[0], carried[1]);
    EXPECT_FALSE(
        carried_whole(comm, map, {view(column), view(carried), permutation, named}, {3, 2}));
  }
}

/// Rows ordered by one digit, with possible losses.
TEST(Faults, AreSeenInTheDigitsThatWereKept) {
  const auto comm = Communicator::world();
  const index_t n = 3001;
  const Table table(n);
  const layout::BlockMap map(n, comm.size());
  const layout::Range mine = map.range(comm.rank());
  const std::vector<KeyColumn> columns{table.columns(mine.begin)[2], table.columns(mine.begin)[3]};
  std::vector<std::uint64_t> permutation(static_cast<std::size_t>(mine.size()));
  mpi::Phases phases;
  SortedDigits kept;
  argsort(comm, map, columns, {.threads = 2}, permutation.data(), phases, &kept);
  ASSERT_TRUE(kept.there);
  const auto found = [&] { return faults(comm, map, columns, {kept, permutation}, {1, 2}); };
  EXPECT_EQ(found(), 0);
  const index_t last = mine.size() - 1;
  const bool here = comm.rank() == comm.size() - 1;
  tessera::sort::Pair& one = kept.pairs[last];
  const auto was = one;
  if (here) ++one.key;  // still in order
  EXPECT_EQ(found(), 1);
  one = was;
  if (here) std::swap(kept.pairs[last - 1], one);
  EXPECT_GE(found(), 1);
  if (here) std::swap(kept.pairs[last - 1], one);
  if (here) std::swap(permutation[0], permutation[1]);
  EXPECT_EQ(found(), 2);
  if (here) std::swap(permutation[0], permutation[1]);
  if (comm.size() > 1) {  // order within ranks is right, across ranks it is not
    if (here) kept.pairs[0] = {0, 0};
    EXPECT_GE(found(), 2);
  }
}

}  // namespace
}  // namespace tessera::dist::sort
