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

/// What one pass works on.
struct Work {
  machine::Buffer<Pair> pairs, spare;
  machine::Buffer<Index> places, values;
};

/// places[0 : share] = the stable permutation that sorts values[0 : share].
void argsort_once(const mpi::Communicator& comm, layout::Range mine, const Method& method,
                  Work& work, mpi::Phases& phases) {
  for_each_index(mine.size(), method.threads, [&](index_t j) {
    work.pairs[j] = {work.values[j], static_cast<Index>(mine.begin + j)};
  });
  const index_t n = sort_pairs(comm, Room<Pair>{work.pairs.data(), work.spare.data(), mine.size()},
                               method, phases);
  TESSERA_EXPECTS(n == mine.size());
  for_each_index(n, method.threads, [&](index_t j) { work.places[j] = work.pairs[j].index; });
}

/// About how many rows a row has that are like it in the values, itself aside: from pairs alike in
/// a sample of every rank, windows of the values.
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
  Work work;
  mpi::together(comm, "allocate", [&] {
    work = {machine::Buffer<Pair>(n), machine::Buffer<Pair>(n), machine::Buffer<Index>(n),
            machine::Buffer<Index>(n)};
  });
  const auto digit_of_rows = [&](std::size_t d, Index* to, Index* scratch) {
    const mpi::PhaseScope scope(phases, "sort");
    key_digit(columns, digits[d], n, to, scratch, method.threads);
  };
  if (digits.empty()) std::iota(result.begin(), result.end(), static_cast<Index>(mine.begin));
  if (digits.size() > 1) {
    constexpr double few_alike = 2;  // more of them are sorted sooner by a pass than tie by tie
    digit_of_rows(0, work.values.data(), work.places.data());
    if (alike_rows(comm, {work.values.data(), static_cast<std::size_t>(n)}) <= few_alike) {
      argsort_once(comm, mine, method, work, phases);
      work.spare = {};
      const TieBreak how{
          comm,          map, digits.size(), digit_of_rows, work.values.span(), work.places.span(),
          method.threads};
      const std::span<Pair> pairs(work.pairs.data(), static_cast<std::size_t>(n));
      if (break_ties(how, pairs, phases)) {
        std::transform(pairs.begin(), pairs.end(), permutation,
                       [](const Pair& pair) { return pair.index; });
        return;
      }
      mpi::together(comm, "allocate", [&] { work.spare = machine::Buffer<Pair>(n); });
    }
  }
  if (digits.size() == 1) {
    digit_of_rows(0, work.values.data(), work.places.data());
    argsort_once(comm, mine, method, work, phases);
    std::copy_n(work.places.data(), n, permutation);
    if (kept != nullptr) *kept = {true, digits[0], std::move(work.pairs)};
    return;
  }
  for (std::size_t d = digits.size(); d-- > 0;) {
    if (d + 1 == digits.size()) {
      digit_of_rows(d, work.values.data(), work.places.data());
      argsort_once(comm, mine, method, work, phases);
      std::copy_n(work.places.data(), n, permutation);
      continue;
    }
    digit_of_rows(d, work.places.data(), work.values.data());
    {
      const mpi::PhaseScope scope(phases, "permute");
      gather<Index>(comm, map, work.places.data(), result, work.values.data(), method.threads);
    }
    argsort_once(comm, mine, method, work, phases);
    const mpi::PhaseScope scope(
        phases, "permute");  // places are those of the last order: back to the rows'
    gather<Index>(comm, map, permutation, work.places.span(), work.values.data(), method.threads);
    std::copy_n(work.values.data(), n, permutation);
  }
}

}  // namespace tessera::dist::sort
