// A merge join of two tables by their keys: mpirun -n 4 ./join
//
// Sorts the records of both tables by key, with their values as payload. Each rank then finds the
// records of the right table that have the keys of its share of the left one, fetches and joins
// them. Keys repeat on both sides, so that the number of pairs and the sum over them are known.

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <tessera/mpi.hpp>
#include <tessera/sort.hpp>
#include <utility>
#include <vector>

namespace {

using namespace tessera;

/// This rank's records.
struct Table {
  std::vector<std::int64_t> keys, values;
};

/// Returns the elements with these numbers, counted over all ranks, whose even shares are `column`.
std::vector<std::int64_t> fetch(const mpi::Communicator& comm, const layout::BlockMap& map,
                                const std::vector<std::int64_t>& column,
                                const std::vector<std::uint64_t>& numbers) {
  std::vector<std::int64_t> found(numbers.size());
  dist::sort::gather(comm, map, column.data(), std::span(numbers), found.data(), 1);
  return found;
}

/// Returns an even share of `rows` records whose keys are factor * row % kinds, sorted by key.
Table sorted(const mpi::Communicator& comm, index_t rows, index_t factor, index_t kinds) {
  const layout::BlockMap map(rows, comm.size());
  const layout::Range mine = map.range(comm.rank());
  Table made;
  for (index_t row = mine.begin; row < mine.end; ++row) {
    made.keys.push_back(row * factor % kinds);
    made.values.push_back(row);
  }
  using namespace dist::sort;
  const std::vector<std::uint64_t> order =
      argsort(comm, mine.size(),
              {{.form = KeyForm::of(Element::i64),
                .data = reinterpret_cast<const std::byte*>(made.keys.data())}});
  return {fetch(comm, map, made.keys, order), fetch(comm, map, made.values, order)};
}

ExitCode body(const mpi::Communicator& comm) {
  // 4 records of each left key 0 .. 1249, 5 of each right key 0 .. 599
  constexpr index_t left_rows = 5000, right_rows = 3000;
  const Table left = sorted(comm, left_rows, 7, 1250), right = sorted(comm, right_rows, 11, 600);
  using dist::sort::SearchSide;
  const std::span<const std::int64_t> keys(left.keys), sought(right.keys);
  const std::vector<index_t> first = dist::sort::searchsorted(comm, sought, keys, SearchSide::left),
                             last = dist::sort::searchsorted(comm, sought, keys, SearchSide::right);
  std::vector<std::uint64_t> partners;  // numbers of right records, for all pairs of this rank
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (index_t number = first[i]; number < last[i]; ++number) {
      partners.push_back(static_cast<std::uint64_t>(number));
      own.push_back(left.values[i]);
    }
  }
  const layout::BlockMap map(right_rows, comm.size());
  const std::vector<std::int64_t> keys_there = fetch(comm, map, right.keys, partners),
                                  values_there = fetch(comm, map, right.values, partners);
  index_t wrong = 0, sum = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    wrong +=
        own[k] * 7 % 1250 == keys_there[k] && values_there[k] * 11 % 600 == keys_there[k] ? 0 : 1;
    sum += own[k] * values_there[k];
  }
  wrong = comm.sum(wrong);
  sum = comm.sum(sum);
  const index_t pairs = comm.sum(static_cast<index_t>(own.size()));
  // The sum of products is that over keys of the sums of both sides.
  index_t expected = 0;
  for (index_t key = 0; key < 600; ++key) {
    index_t of_left = 0, of_right = 0;
    for (index_t row = 0; row < left_rows; ++row) of_left += row * 7 % 1250 == key ? row : 0;
    for (index_t row = 0; row < right_rows; ++row) of_right += row * 11 % 600 == key ? row : 0;
    expected += of_left * of_right;
  }
  if (comm.is_root())
    std::printf("%lld pairs, %lld wrong\n", static_cast<long long>(pairs),
                static_cast<long long>(wrong));
  const bool right_result = wrong == 0 && pairs == 600 * 4 * 5 && sum == expected;
  return right_result ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) { return mpi::run_main(&argc, &argv, body); }
