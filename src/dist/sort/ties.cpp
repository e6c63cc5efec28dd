// Tie breaking by further digits, most significant first (Bentley and Sedgewick 1997).

#include "dist/sort/ties.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <vector>

#include "dist/sort/permute.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using layout::Range;
using tessera::sort::Pair;

constexpr index_t word_rows = 64;               // rows of a word of bits
constexpr index_t ties_grain = word_rows << 8;  // rows of one task
constexpr index_t most_across = 1 << 18;        // rows of ties across ranks, of all ranks

/// A bit per row: whether its digits so far equal those of the row before. A tie is a row without
/// the bit and those behind it with the bit.
class TiedRows {
 public:
  explicit TiedRows(index_t rows)
      : rows_(rows),
        words_(static_cast<std::size_t>(ceil_div(rows, word_rows)), ~std::uint64_t{0}) {
    if (rows > 0) words_.front() &= ~std::uint64_t{1};
  }

  [[nodiscard]] bool any() const {
    return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
  }
  /// Clears the bits of those rows for which equal(row) is false; begin is a multiple of word_rows.
  template <class F>
  void keep(layout::Range rows, const F& equal) {
    for (index_t begin = rows.begin; begin < rows.end; begin += word_rows) {
      std::uint64_t& word = words_[static_cast<std::size_t>(begin / word_rows)];
      for (std::uint64_t left = word; left != 0; left &= left - 1) {
        const index_t row = begin + std::countr_zero(left);
        if (row >= rows.end || !equal(row)) word ^= left & -left;
      }
    }
  }
  /// Returns the first of the rows that has the bit, or has it not; their end if there is none.
  [[nodiscard]] index_t next(index_t row, index_t end, bool has) const {
    while (row < end) {
      const std::uint64_t word = words_[static_cast<std::size_t>(row / word_rows)],
                          rest = (has ? word : ~word) >> (row % word_rows);
      if (rest != 0) return std::min(end, row + std::countr_zero(rest));
      row = (row / word_rows + 1) * word_rows;
    }
    return end;
  }
  /// Returns the end of the tie that begins with that row.
  [[nodiscard]] index_t end_of_tie(index_t row) const { return next(row + 1, rows_, false); }
  /// Returns the first row of that row's tie.
  [[nodiscard]] index_t begin_of_tie(index_t row) const {
    while ((words_[static_cast<std::size_t>(row / word_rows)] >> (row % word_rows) & 1) != 0) --row;
    return row;
  }

 private:
  index_t rows_;
  std::vector<std::uint64_t> words_;
};

class Ties {
 public:
  Ties(const TieBreak& how, std::span<Pair> pairs, mpi::Phases& phases)
      : how_(how),
        pairs_(pairs),
        phases_(phases),
        rows_(static_cast<index_t>(pairs.size())),
        joined_(static_cast<std::size_t>(how.comm.size()) + 1, true) {
    joined_.front() = joined_.back() = false;
  }

  bool run() {
    if (how_.comm.min(static_cast<double>(rows_)) == 0) return false;
    mpi::together(how_.comm, "sort", [&] { equal_.emplace(rows_); });
    join();
    find();
    for (std::size_t digit = 1; digit < how_.digits; ++digit) {
      const bool tied = equal_->any() || joins_the_one_before() || joins_the_next();
      if (how_.comm.sum(index_t{tied ? 1 : 0}) == 0) return true;
      fetch(digit);
      const mpi::PhaseScope scope(phases_, "sort");
      for_each_tie([this](Range tie, index_t) {
        std::sort(pairs_.begin() + tie.begin, pairs_.begin() + tie.end);
      });
      if (!sort_across()) return false;
      if (digit + 1 == how_.digits) return true;
      join();
      find();
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t key(index_t row) const {
    return pairs_[static_cast<std::size_t>(row)].key;
  }
  [[nodiscard]] bool joined(int rank) const { return joined_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool joins_the_one_before() const { return joined(how_.comm.rank()); }
  [[nodiscard]] bool joins_the_next() const { return joined(how_.comm.rank() + 1); }

  template <class F>
  void in_pieces(const F& f) const {
    machine::parallel(how_.threads, [&] {
      machine::parallel_for(0, ceil_div(rows_, ties_grain), 1, [&](index_t piece, index_t) {
        f(piece, Range{piece * ties_grain, std::min(rows_, (piece + 1) * ties_grain)});
      });
    });
  }

  /// Finds those of the rows tied so far that are so by the keys, too.
  void find() {
    const mpi::PhaseScope scope(phases_, "sort");
    in_pieces([this](index_t, Range rows) {
      equal_->keep(rows, [this](index_t row) { return key(row) == key(row - 1); });
    });
  }

  /// Updates which ranks' first rows are still tied with the last one of the rank before.
  void join() {
    const std::array<std::uint64_t, 2> ends{key(0), key(rows_ - 1)};
    const auto all = how_.comm.all_gather(std::span<const std::uint64_t>(ends));
    for (std::size_t rank = 1; rank + 1 < joined_.size(); ++rank)
      joined_[rank] = joined_[rank] && all[2 * rank - 1] == all[2 * rank];
  }

  /// Calls f(tie) for the ties that begin in these rows: those of several rows, and those of one
  /// that extend to another rank.
  template <class F>
  void for_ties_in(Range rows, const F& f) const {
    index_t row = rows.begin;
    if (row == 0 && joins_the_one_before()) {
      row = equal_->end_of_tie(0);
      f(Range{0, row});
    }
    row = equal_->next(row, rows.end, false);  // behind a tie of the previous rows
    while (row < rows.end) {
      const index_t begin = equal_->next(row + 1, std::min(rows_, rows.end + 1), true) - 1;
      const index_t end = equal_->end_of_tie(begin);
      if (begin < rows.end && (end - begin > 1 || (end == rows_ && joins_the_next())))
        f(Range{begin, end});
      row = end;
    }
  }

  /// Calls f(tie, number of tied rows before it); returns the number of tied rows.
  template <class F>
  index_t for_each_tie(const F& f) const {
    std::vector<index_t> first(static_cast<std::size_t>(ceil_div(rows_, ties_grain)) + 1, 0);
    in_pieces([&](index_t piece, Range rows) {
      index_t& count = first[static_cast<std::size_t>(piece) + 1];
      for_ties_in(rows, [&](Range tie) { count += tie.size(); });
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    in_pieces([&](index_t piece, Range rows) {
      index_t before = first[static_cast<std::size_t>(piece)];
      for_ties_in(rows, [&](Range tie) {
        f(tie, before);
        before += tie.size();
      });
    });
    return first.back();
  }

  /// Fetches the digit of all tied rows.
  void fetch(std::size_t digit) {
    how_.digit_of_rows(digit, how_.of_rows.data(), how_.of_ties.data());
    const mpi::PhaseScope scope(phases_, "permute");
    const index_t count = for_each_tie([&](Range tie, index_t before) {
      for (index_t row = tie.begin; row < tie.end; ++row)
        how_.of_ties[static_cast<std::size_t>(before++)] =
            pairs_[static_cast<std::size_t>(row)].index;
    });
    gather<std::uint64_t>(how_.comm, how_.map, how_.of_rows.data(),
                          how_.of_ties.first(static_cast<std::size_t>(count)), how_.of_ties.data(),
                          how_.threads);
    for_each_tie([&](Range tie, index_t before) {
      for (index_t row = tie.begin; row < tie.end; ++row)
        pairs_[static_cast<std::size_t>(row)].key =
            how_.of_ties[static_cast<std::size_t>(before++)];
    });
  }

  /// Return the rows of this rank that are tied with those of other ranks: the first ones, and the
  /// last ones, which may be the same.
  [[nodiscard]] Range first_tie() const {
    return joins_the_one_before() ? Range{0, equal_->end_of_tie(0)} : Range{};
  }
  [[nodiscard]] Range last_tie() const {
    return joins_the_next() ? Range{equal_->begin_of_tie(rows_ - 1), rows_} : Range{};
  }

  /// Sorts the ties that span ranks; returns false if they are too long.
  bool sort_across() {
    const mpi::Communicator& comm = how_.comm;
    const Range first = first_tie(), last = last_tie();
    const index_t most = comm.max(std::max(first.size(), last.size()));
    if (most == 0) return true;
    if (most > std::max<index_t>(64, most_across / comm.size())) return false;
    const std::array<index_t, 3> sizes{first.size(), last.size(), first.size() == rows_ ? 1 : 0};
    const auto all_sizes = comm.all_gather(std::span<const index_t>(sizes));
    const auto room = static_cast<std::size_t>(most);
    std::vector<Pair> mine(2 * room);
    std::copy(pairs_.begin() + first.begin, pairs_.begin() + first.end, mine.begin());
    std::copy(pairs_.begin() + last.begin, pairs_.begin() + last.end,
              mine.begin() + static_cast<std::ptrdiff_t>(room));
    const auto all = comm.all_gather(std::span<const Pair>(mine));
    const auto whole =
        [&](int rank) {  // all of a rank's rows are tied with those of both neighbours
          return joined(rank) && joined(rank + 1) &&
                 all_sizes[3 * static_cast<std::size_t>(rank) + 2] != 0;
        };
    const auto sort_tie = [&](int border, Range here) {
      int begin = border - 1, end = border;
      while (whole(begin)) --begin;
      while (whole(end)) ++end;
      std::vector<Pair> tie;
      std::size_t before = 0;
      for (int rank = begin; rank <= end; ++rank) {
        const std::size_t r = static_cast<std::size_t>(rank), part = rank == begin ? 1 : 0;
        if (rank == comm.rank()) before = tie.size();
        const auto from = all.begin() + static_cast<std::ptrdiff_t>((2 * r + part) * room);
        tie.insert(tie.end(), from, from + all_sizes[3 * r + part]);
      }
      std::sort(tie.begin(), tie.end());
      std::copy_n(tie.begin() + static_cast<std::ptrdiff_t>(before), here.size(),
                  pairs_.begin() + here.begin);
    };
    if (!first.empty()) sort_tie(comm.rank(), first);
    if (!last.empty() && !whole(comm.rank())) sort_tie(comm.rank() + 1, last);
    return true;
  }

  const TieBreak& how_;
  std::span<Pair> pairs_;
  mpi::Phases& phases_;
  index_t rows_;
  std::vector<bool> joined_;  // of a rank: with the one before
  std::optional<TiedRows> equal_;
};

}  // namespace

bool break_ties(const TieBreak& how, std::span<Pair> pairs, mpi::Phases& phases) {
  return Ties(how, pairs, phases).run();
}

}  // namespace tessera::inline v1::dist::sort
