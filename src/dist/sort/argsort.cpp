// Distributed argsort: tie breaking after one sort by the first digit, or stable LSD radix passes.

#include "dist/sort/argsort.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "dist/sort/algorithms.hpp"
#include "dist/sort/grain.hpp"
#include "dist/sort/ties.hpp"
#include "kernels/sort/records.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using Index = std::uint64_t;

template <class F>
void for_each_index(index_t n, int threads, const F& f) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) f(j);
    });
  });
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

/// The sort of this rank's rows by their digits.
class DigitSort {
 public:
  /// Packs the digits and allocates pairs. Collective.
  DigitSort(const mpi::Communicator& comm, const layout::BlockMap& map,
            const std::vector<KeyColumn>& columns, const Method& method, mpi::Phases& phases)
      : comm_(comm),
        map_(map),
        columns_(columns),
        method_(method),
        phases_(phases),
        mine_(map.range(comm.rank())) {
    {
      const mpi::PhaseScope scope(phases, "sort");
      digits_ = pack_keys(comm, columns, mine_.size(), method.threads);
    }
    mpi::together(comm, "allocate", [&] {
      sorted_ = machine::Buffer<Pair>(mine_.size());
      spare_ = machine::Buffer<Pair>(mine_.size());
    });
  }

  /// Writes the order, and the digits to `kept` if one digit decides. Collective.
  void sort(std::span<Index> order, SortedDigits* kept) {
    if (digits_.empty()) {
      std::iota(order.begin(), order.end(), static_cast<Index>(mine_.begin));
    } else if (digits_.size() == 1) {
      auto* const values = reinterpret_cast<Index*>(spare_.data());
      digit_of_rows(0, values, values + mine_.size());
      sort_once(values, order.data());
      if (kept != nullptr) *kept = {true, digits_[0], std::move(sorted_)};
    } else {
      mpi::together(comm_, "allocate", [&] {
        places_ = machine::Buffer<Index>(mine_.size());
        values_ = machine::Buffer<Index>(mine_.size());
      });
      if (!sort_by_first_digit(order)) sort_by_every_digit(order);
    }
  }

 private:
  void digit_of_rows(std::size_t d, Index* to, Index* scratch) {
    const mpi::PhaseScope scope(phases_, "sort");
    key_digit(columns_, digits_[d], mine_.size(), to, scratch, method_.threads);
  }

  /// Writes the stable permutation that sorts values[0 : share] to places[0 : share]; values may be
  /// in the spare pairs.
  void sort_once(const Index* values, Index* places) {
    for_each_index(mine_.size(), method_.threads, [&](index_t j) {
      sorted_[j] = {values[j], static_cast<Index>(mine_.begin + j)};
    });
    const index_t n = sort_pairs(comm_, Room<Pair>{sorted_.data(), spare_.data(), mine_.size()},
                                 method_, phases_);
    TESSERA_EXPECTS(n == mine_.size());
    for_each_index(n, method_.threads, [&](index_t j) { places[j] = sorted_[j].index; });
  }

  /// Sorts by the first digit and breaks ties; returns false if many rows are tied.
  [[nodiscard]] bool sort_by_first_digit(std::span<Index> order) {
    constexpr double few_alike = 2;  // with more, a pass is faster than breaking ties
    digit_of_rows(0, values_.data(), places_.data());
    if (alike_rows(comm_, values_.span()) > few_alike) return false;
    sort_once(values_.data(), places_.data());
    spare_ = {};
    const TieBreak how{.comm = comm_,
                       .map = map_,
                       .digits = digits_.size(),
                       .digit_of_rows = [this](std::size_t d, Index* to,
                                               Index* scratch) { digit_of_rows(d, to, scratch); },
                       .of_rows = values_.span(),
                       .of_ties = places_.span(),
                       .threads = method_.threads};
    if (break_ties(how, sorted_.span(), phases_)) {
      std::transform(sorted_.begin(), sorted_.end(), order.begin(),
                     [](const Pair& pair) { return pair.index; });
      return true;
    }
    mpi::together(comm_, "allocate", [&] { spare_ = machine::Buffer<Pair>(mine_.size()); });
    return false;
  }

  /// Sorts in stable passes, from the last digit to the first.
  void sort_by_every_digit(std::span<Index> order) {
    const std::size_t last = digits_.size() - 1;
    digit_of_rows(last, values_.data(), places_.data());
    sort_once(values_.data(), order.data());
    for (std::size_t d = last; d-- > 0;) {
      digit_of_rows(d, places_.data(), values_.data());
      take(places_.data(), order, values_.data());
      sort_once(values_.data(), places_.data());
      take(order.data(), places_.span(), values_.data());  // the places refer to the last order
      std::copy_n(values_.data(), mine_.size(), order.data());
    }
  }

  /// Sets to[j] to element places[j] of `from`.
  void take(const Index* from, std::span<const Index> places, Index* to) {
    const mpi::PhaseScope scope(phases_, "permute");
    gather<Index>(comm_, map_, from, places, to, method_.threads);
  }

  const mpi::Communicator& comm_;
  const layout::BlockMap& map_;
  const std::vector<KeyColumn>& columns_;
  const Method& method_;
  mpi::Phases& phases_;
  layout::Range mine_;
  std::vector<KeyDigit> digits_;
  machine::Buffer<Pair> sorted_, spare_;  // of a pass, and equally many for the sort
  machine::Buffer<Index> places_, values_;
};

/// Checks what a caller passes.
void require_columns(const std::vector<KeyColumn>& columns, index_t n) {
  require_argument(!columns.empty(), "columns", "is empty: a sort needs at least one key column");
  for (const KeyColumn& column : columns) {
    require_argument(
        column.form.bytes >= 1 && (column.row_bytes == 0 || column.row_bytes >= column.form.bytes),
        "columns",
        fmt::format("has a key of {} bytes in rows of {}: must be at least 1 and fit the row",
                    column.form.bytes, column.row_bytes));
    require_argument(n == 0 || column.data != nullptr, "columns",
                     "has a null data pointer: every key column needs data");
  }
}

/// Returns the keys without what is between them.
std::vector<std::byte> packed(const KeyColumn& column, index_t rows) {
  const index_t bytes = column.form.bytes;
  std::vector<std::byte> result(static_cast<std::size_t>(rows * bytes));
  for (index_t j = 0; j < rows; ++j)
    std::copy_n(column.data + j * column.step(), bytes, result.data() + j * bytes);
  return result;
}

}  // namespace

void argsort(const mpi::Communicator& comm, const layout::BlockMap& map,
             const std::vector<KeyColumn>& columns, const Method& method,
             std::uint64_t* permutation, mpi::Phases& phases, SortedDigits* kept) {
  require_argument(
      map.parts() == comm.size(), "map",
      fmt::format("has {} parts: must be {}, the ranks of comm", map.parts(), comm.size()));
  require_argument(
      map.range(comm.rank()) == layout::BlockMap(map.extent(), comm.size()).range(comm.rank()),
      "map", "is uneven: must be BlockMap(rows, ranks), even shares of the rows");
  require_argument(method.threads >= 1, "method.threads",
                   fmt::format("is {}: must be at least 1", method.threads));
  if (kept != nullptr) *kept = {};
  const layout::Range mine = map.range(comm.rank());
  const index_t n = mine.size();
  require_columns(columns, n);
  require_argument(n == 0 || permutation != nullptr, "permutation",
                   "is null: must have an element for each row of this rank");
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
  DigitSort(comm, map, columns, method, phases).sort(result, kept);
}

std::vector<std::uint64_t> argsort(const mpi::Communicator& comm, index_t rows,
                                   const std::vector<KeyColumn>& columns, const Method& method,
                                   mpi::Phases& phases) {
  require_argument(rows >= 0, "rows", fmt::format("is {}: must be at least 0", rows));
  require_columns(columns, rows);
  const std::vector<index_t> all = comm.all_gather(rows);
  const layout::BlockMap map(std::accumulate(all.begin(), all.end(), index_t{0}), comm.size());
  std::vector<KeyColumn> even = columns;
  std::vector<std::vector<std::byte>> keys;
  bool is_even = true;
  for (index_t r = 0; r < comm.size(); ++r)
    is_even = is_even && all[static_cast<std::size_t>(r)] == map.size(r);
  for (KeyColumn& column : even) {
    if (is_even) break;
    const mpi::PhaseScope scope(phases, "exchange");
    keys.push_back(in_even_shares(comm, packed(column, rows), column.form.bytes));
    column.data = keys.back().data();
    column.row_bytes = 0;
  }
  std::vector<Index> permutation(static_cast<std::size_t>(map.size(comm.rank())));
  argsort(comm, map, even, method, permutation.data(), phases);
  return permutation;
}

}  // namespace tessera::inline v1::dist::sort
