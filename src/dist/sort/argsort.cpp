// Distributed argsort: tie breaking after one sort by the first digit, or stable LSD radix passes.

#include "dist/sort/argsort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "dist/sort/ties.hpp"
#include "kernels/sort/records.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::sort {
namespace {

using Index = std::uint64_t;

constexpr index_t grain = 1 << 16;  // elements of one task

template <class F>
void for_each_index(index_t n, int threads, const F& f) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) f(j);
    });
  });
}

/// The pairs of a pass, and equally many spare pairs for the sort.
struct PassPairs {
  machine::Buffer<Pair> sorted, spare;
};

PassPairs pairs_for(const mpi::Communicator& comm, index_t n) {
  PassPairs pairs;
  mpi::together(comm, "allocate", [&] {
    pairs = {machine::Buffer<Pair>(n), machine::Buffer<Pair>(n)};
  });
  return pairs;
}

/// Writes the stable permutation that sorts values[0 : share] to places[0 : share]; values may be
/// in the spare pairs.
void argsort_once(const mpi::Communicator& comm, layout::Range mine, const Method& method,
                  PassPairs& pairs, const Index* values, Index* places, mpi::Phases& phases) {
  for_each_index(mine.size(), method.threads, [&](index_t j) {
    pairs.sorted[j] = {values[j], static_cast<Index>(mine.begin + j)};
  });
  const index_t n = sort_pairs(
      comm, Room<Pair>{pairs.sorted.data(), pairs.spare.data(), mine.size()}, method, phases);
  TESSERA_EXPECTS(n == mine.size());
  for_each_index(n, method.threads, [&](index_t j) { places[j] = pairs.sorted[j].index; });
}

/// Estimates the number of other rows that equal a row in the values, from equal pairs in a sample
/// of every rank, windows of the values.
double alike_rows(const mpi::Communicator& comm, std::span<const Index> values) {
  constexpr std::size_t windows = 16, in_window = 64;
  std::vector<Index> sample;
  const std::size_t step = std::max(values.size() / windows, in_window);
  for (std::size_t begin = 0; begin + in_window <= values.size(); begin += step)
    sample.insert(sample.end(), values.begin() + static_cast<std::ptrdiff_t>(begin),
                  values.begin() + static_cast<std::ptrdiff_t>(begin + in_window));
  std::sort(sample.begin(), sample.end());
  const auto pairs_of = [](double n) { return n * (n - 1) / 2; };
  double alike = 0;
  for (auto begin = sample.begin(); begin != sample.end();) {
    const auto end = std::upper_bound(begin, sample.end(), *begin);
    alike += pairs_of(static_cast<double>(end - begin));
    begin = end;
  }
  const double all = comm.sum(pairs_of(static_cast<double>(sample.size())));
  return comm.sum(alike) / std::max(1.0, all) * comm.sum(static_cast<double>(values.size()));
}

}  // namespace

void argsort(const mpi::Communicator& comm, const layout::BlockMap& map,
             const std::vector<KeyColumn>& columns, const Method& method,
             std::uint64_t* permutation, mpi::Phases& phases, SortedDigits* kept) {
  require(map.parts() == comm.size(), ExitCode::usage,
          fmt::format("map: it has {} parts and comm {} ranks", map.parts(), comm.size()));
  require(map.range(comm.rank()) == layout::BlockMap(map.extent(), comm.size()).range(comm.rank()),
          ExitCode::usage, "map: rows are to lie in even shares, BlockMap(rows, ranks)");
  require(method.threads >= 1, ExitCode::usage,
          fmt::format("method.threads: at least 1, not {}", method.threads));
  if (kept != nullptr) *kept = {};
  const layout::Range mine = map.range(comm.rank());
  const index_t n = mine.size();
  require(!columns.empty(), ExitCode::usage, "columns: there is none to sort by");
  for (const KeyColumn& column : columns) {
    require(
        column.form.bytes >= 1 && (column.row_bytes == 0 || column.row_bytes >= column.form.bytes),
        ExitCode::usage,
        fmt::format("columns: a key of {} bytes in rows of {}", column.form.bytes,
                    column.row_bytes));
    require(n == 0 || column.data != nullptr, ExitCode::usage, "columns: one has no data");
  }
  require(n == 0 || permutation != nullptr, ExitCode::usage,
          "permutation: there is no memory for it");
  const std::span<Index> result(permutation, static_cast<std::size_t>(n));
  if (comm.size() == 1 && columns.size() == 1 && !columns[0].form.number &&
      method.kernel == "auto") {
    const mpi::PhaseScope scope(phases, "sort");
    const index_t bytes = columns[0].form.bytes;
    mpi::together(comm, "sort", [&] {
      tessera::sort::argsort_records(columns[0].data, bytes, {0, bytes, columns[0].order}, result,
                                     method.threads);
    });
    return;
  }
  std::vector<KeyDigit> digits;
  {
    const mpi::PhaseScope scope(phases, "sort");
    digits = pack_keys(comm, columns, n, method.threads);
  }
  PassPairs pairs = pairs_for(comm, n);
  const auto digit_of_rows = [&](std::size_t d, Index* to, Index* scratch) {
    const mpi::PhaseScope scope(phases, "sort");
    key_digit(columns, digits[d], n, to, scratch, method.threads);
  };
  if (digits.size() == 1) {
    auto* const values = reinterpret_cast<Index*>(pairs.spare.data());
    digit_of_rows(0, values, values + n);
    argsort_once(comm, mine, method, pairs, values, permutation, phases);
    if (kept != nullptr) *kept = {true, digits[0], std::move(pairs.sorted)};
    return;
  }
  if (digits.empty()) {
    std::iota(result.begin(), result.end(), static_cast<Index>(mine.begin));
    return;
  }
  machine::Buffer<Index> places, values;
  mpi::together(comm, "allocate", [&] {
    places = machine::Buffer<Index>(n);
    values = machine::Buffer<Index>(n);
  });
  {
    constexpr double few_alike = 2;  // with more, a pass is faster than breaking ties
    digit_of_rows(0, values.data(), places.data());
    if (alike_rows(comm, {values.data(), static_cast<std::size_t>(n)}) <= few_alike) {
      argsort_once(comm, mine, method, pairs, values.data(), places.data(), phases);
      pairs.spare = {};
      const TieBreak how{comm,          map,           digits.size(), digit_of_rows,
                         values.span(), places.span(), method.threads};
      const std::span<Pair> tied(pairs.sorted.data(), static_cast<std::size_t>(n));
      if (break_ties(how, tied, phases)) {
        std::transform(tied.begin(), tied.end(), permutation,
                       [](const Pair& pair) { return pair.index; });
        return;
      }
      mpi::together(comm, "allocate", [&] { pairs.spare = machine::Buffer<Pair>(n); });
    }
  }
  for (std::size_t d = digits.size(); d-- > 0;) {
    if (d + 1 == digits.size()) {
      digit_of_rows(d, values.data(), places.data());
      argsort_once(comm, mine, method, pairs, values.data(), permutation, phases);
      continue;
    }
    digit_of_rows(d, places.data(), values.data());
    {
      const mpi::PhaseScope scope(phases, "permute");
      gather<Index>(comm, map, places.data(), result, values.data(), method.threads);
    }
    argsort_once(comm, mine, method, pairs, values.data(), places.data(), phases);
    const mpi::PhaseScope scope(
        phases, "permute");  // places refer to the last order: maps them to the input rows
    gather<Index>(comm, map, permutation, places.span(), values.data(), method.threads);
    std::copy_n(values.data(), n, permutation);
  }
}

}  // namespace tessera::dist::sort
