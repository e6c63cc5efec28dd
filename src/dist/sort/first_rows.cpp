// Top-k rows by multiselection, digit by digit, and the first row of each key.

#include "dist/sort/first_rows.hpp"

#include <algorithm>
#include <array>

#include "dist/sort/algorithms.hpp"
#include "dist/sort/neighbours.hpp"
#include "dist/sort/select.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using Index = std::uint64_t;
using Rows = std::vector<Index>;
using tessera::sort::Pair;

/// Returns the rows of this rank (as local indices, ascending) among the first `count` of all,
/// digit by digit: keys below the digit at the cut are in, keys above are out, and equal ones are
/// examined further.
Rows first_rows(const mpi::Communicator& comm, const std::vector<KeyColumn>& columns, index_t n,
                index_t count, int threads) {
  Rows open(static_cast<std::size_t>(n)), chosen;
  for (std::size_t j = 0; j < open.size(); ++j) open[j] = j;
  machine::Buffer<Index> digits(n), scratch(n);
  index_t missing = count;
  for (const KeyDigit& digit : pack_keys(comm, columns, n, threads)) {
    key_digit(columns, digit, n, digits.data(), scratch.data(), threads);
    const auto digit_of = [&](Index row) { return digits[static_cast<index_t>(row)]; };
    const BitsPass pass = [&](const BitsPiece& piece) {
      Rows some(std::min<std::size_t>(open.size(), 4096));
      for (std::size_t at = 0; at < open.size(); at += some.size()) {
        some.resize(std::min(some.size(), open.size() - at));
        for (std::size_t j = 0; j < some.size(); ++j) some[j] = digit_of(open[at + j]);
        piece(some);
      }
    };
    const index_t last_place = missing - 1;
    const Selected last = select(comm, pass, std::span(&last_place, 1)).front();
    missing -= last.below;
    std::copy_if(open.begin(), open.end(), std::back_inserter(chosen),
                 [&](Index row) { return digit_of(row) < last.bits; });
    std::erase_if(open, [&](Index row) { return digit_of(row) != last.bits; });
  }
  auto before = static_cast<index_t>(open.size());  // equal rows: the lower indices first
  comm.sum_before(std::span(&before, 1));
  const index_t taken = std::clamp<index_t>(missing - before, 0, static_cast<index_t>(open.size()));
  chosen.insert(chosen.end(), open.begin(), open.begin() + taken);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::byte> picked(const Rows& rows, const std::byte* data, index_t bytes) {
  std::vector<std::byte> result(rows.size() * static_cast<std::size_t>(bytes));
  for (std::size_t j = 0; j < rows.size(); ++j)
    std::copy_n(data + static_cast<index_t>(rows[j]) * bytes, bytes,
                result.data() + static_cast<index_t>(j) * bytes);
  return result;
}

}  // namespace

std::vector<Index> argsort_first(const mpi::Communicator& comm, const layout::BlockMap& map,
                                 const std::vector<KeyColumn>& columns, index_t count,
                                 const Method& method, mpi::Phases& phases) {
  const layout::Range mine = map.range(comm.rank());
  count = std::min(count, map.extent());
  if (count == 0) return {};
  std::vector<std::byte> indices;
  std::vector<std::vector<std::byte>> keys;
  std::vector<KeyColumn> few = columns;
  {
    const mpi::PhaseScope scope(phases, "select");
    Rows rows = first_rows(comm, columns, mine.size(), count, method.threads);
    for (KeyColumn& column : few) {
      keys.push_back(
          in_even_shares(comm, picked(rows, column.data, column.form.bytes), column.form.bytes));
      column.data = keys.back().data();
    }
    for (Index& row : rows) row += static_cast<Index>(mine.begin);
    const auto bytes = std::as_bytes(std::span(rows));
    indices = in_even_shares(comm, {bytes.begin(), bytes.end()}, sizeof(Index));
  }
  const layout::BlockMap shares(count, comm.size());
  std::vector<Index> places(static_cast<std::size_t>(shares.size(comm.rank())));
  argsort(comm, shares, few, method, places.data(), phases);
  std::vector<Index> result(places.size());
  Gather(comm, shares, places, method.threads)({indices.data(), sizeof(Index)},
                                               reinterpret_cast<std::byte*>(result.data()));
  return result;
}

index_t faults_of_first(const mpi::Communicator& comm, const layout::BlockMap& map,
                        const std::vector<KeyColumn>& columns, Indices permutation, int threads) {
  const index_t count = comm.sum(static_cast<index_t>(permutation.size()));
  if (count == 0) return 0;
  index_t wrong = out_of_order(comm, compare_neighbours(comm, map, columns, permutation, threads));
  // BlockMap's empty parts are the last ones.
  const auto sizes = comm.all_gather(static_cast<index_t>(permutation.size()));
  const auto holder = static_cast<int>(
      std::find_if(sizes.rbegin(), sizes.rend(), [](index_t n) { return n > 0; }).base() -
      sizes.begin() - 1);
  Index last = comm.rank() == holder ? permutation.back() : 0;
  comm.broadcast(std::span(&last, 1), holder);
  // Counts the rows before the last one: by every word of every column, then by index.
  const layout::Range mine = map.range(comm.rank());
  machine::Buffer<Index> words(mine.size());
  std::vector<KeyStep> steps(static_cast<std::size_t>(mine.size()), KeyStep::equal);
  for (const KeyColumn& column : columns) {
    for (index_t word = 0; word < column.form.words(); ++word) {
      key_word(column, word, mine.size(), words.data(), threads);
      Index of_last = 0;
      gather<Index>(comm, map, words.data(), std::span(&last, 1), &of_last, threads);
      for (std::size_t j = 0; j < steps.size(); ++j) {
        const Index here = words[static_cast<index_t>(j)];
        if (steps[j] == KeyStep::equal && here != of_last)
          steps[j] = here < of_last ? KeyStep::up : KeyStep::down;
      }
    }
  }
  index_t before = 0;
  for (std::size_t j = 0; j < steps.size(); ++j) {
    const bool lower = static_cast<Index>(mine.begin) + j < last;
    before += steps[j] == KeyStep::up || (steps[j] == KeyStep::equal && lower) ? 1 : 0;
  }
  return wrong + (comm.sum(before) == count - 1 ? 0 : 1);
}

std::vector<Index> first_of_each(const mpi::Communicator& comm, const layout::BlockMap& map,
                                 const std::vector<KeyColumn>& columns, Indices permutation,
                                 int threads) {
  const AdjacentRows rows = compare_neighbours(comm, map, by_number(columns), permutation, threads);
  std::vector<Index> result;
  if (!rows.has_row_before && !permutation.empty()) result.push_back(permutation.front());
  for (index_t j = 0; j < rows.steps.size(); ++j) {
    if (rows.steps[j] != KeyStep::equal) result.push_back(rows.indices[j + 1]);
  }
  return result;
}

std::optional<Pair> pair_before(const mpi::Communicator& comm, std::span<const Pair> pairs) {
  const std::array<std::uint64_t, 3> mine{pairs.empty() ? 0U : 1U,
                                          pairs.empty() ? 0 : pairs.back().key,
                                          pairs.empty() ? 0 : pairs.back().index};
  const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
  for (auto r = static_cast<std::size_t>(comm.rank()); r-- > 0;)
    if (all[3 * r] != 0) return Pair{all[3 * r + 1], all[3 * r + 2]};
  return std::nullopt;
}

std::vector<Index> first_of_each(const mpi::Communicator& comm, std::span<const Pair> pairs) {
  std::optional<Pair> before = pair_before(comm, pairs);
  std::vector<Index> result;
  for (const Pair& pair : pairs) {
    if (!before || before->key != pair.key) result.push_back(pair.index);
    before = pair;
  }
  return result;
}

}  // namespace tessera::inline v1::dist::sort
