// Tie breaking by further digits, most significant first (Bentley and Sedgewick 1997).

#include "dist/sort/ties.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "dist/sort/permute.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::sort {
namespace {

using layout::Range;
using tessera::sort::Pair;

constexpr index_t grain = 1 << 14;        // rows, or ties, of one task
constexpr index_t most_across = 1 << 18;  // rows of ties across ranks, of all ranks

/// Returns the results of `f(begin, end, found)` for pieces of [0, n), in order.
template <class F>
std::vector<Range> found_in_pieces(index_t n, int threads, const F& f) {
  std::vector<std::vector<Range>> found(static_cast<std::size_t>(ceil_div(n, grain)));
  machine::parallel(threads, [&] {
    machine::parallel_for(0, ceil_div(n, grain), 1, [&](index_t piece, index_t) {
      f(piece * grain, std::min(n, (piece + 1) * grain), found[static_cast<std::size_t>(piece)]);
    });
  });
  std::vector<Range> all;
  for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

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
    join();
    find_in_rows();
    for (std::size_t digit = 1; digit < how_.digits; ++digit) {
      if (how_.comm.sum(static_cast<index_t>(ties_.size())) == 0) return true;
      fetch(digit);
      const mpi::PhaseScope scope(phases_, "sort");
      for_each_tie([this](Range tie, index_t) {
        std::sort(pairs_.begin() + tie.begin, pairs_.begin() + tie.end);
      });
      if (!sort_across()) return false;
      join();
      find_in_ties();
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

  /// Finds the equal rows from `begin` on; appends a tie if they are several or extend to another
  /// rank. Returns their end.
  index_t find(index_t begin, index_t end, std::vector<Range>& found) const {
    index_t behind = begin + 1;
    while (behind < end && key(behind) == key(begin)) ++behind;
    if (behind - begin > 1 || (begin == 0 && joins_the_one_before()) ||
        (behind == rows_ && joins_the_next()))
      found.push_back({begin, behind});
    return behind;
  }

  void find_in_rows() {
    const mpi::PhaseScope scope(phases_, "sort");
    ties_ = found_in_pieces(rows_, how_.threads,
                            [this](index_t begin, index_t end, std::vector<Range>& found) {
                              while (begin > 0 && begin < end && key(begin) == key(begin - 1))
                                ++begin;
                              while (begin < end) begin = find(begin, rows_, found);
                            });
  }
  void find_in_ties() {
    const std::vector<Range> before = std::move(ties_);
    ties_ = found_in_pieces(static_cast<index_t>(before.size()), how_.threads,
                            [&](index_t begin, index_t end, std::vector<Range>& found) {
                              for (index_t tie = begin; tie < end; ++tie) {
                                const Range rows = before[static_cast<std::size_t>(tie)];
                                for (index_t row = rows.begin; row < rows.end;)
                                  row = find(row, rows.end, found);
                              }
                            });
  }

  /// Updates which ranks' first rows are still tied with the last one of the rank before.
  void join() {
    const std::array<std::uint64_t, 2> ends{key(0), key(rows_ - 1)};
    const auto all = how_.comm.all_gather(std::span<const std::uint64_t>(ends));
    for (std::size_t rank = 1; rank + 1 < joined_.size(); ++rank)
      joined_[rank] = joined_[rank] && all[2 * rank - 1] == all[2 * rank];
  }

  /// Calls f(tie, number of tied rows before it).
  template <class F>
  void for_each_tie(const F& f) const {
    const auto count = static_cast<index_t>(ties_.size()), pieces = ceil_div(count, grain);
    const auto in_piece = [&](index_t piece, const auto& g) {
      for (index_t tie = piece * grain; tie < std::min(count, (piece + 1) * grain); ++tie)
        g(ties_[static_cast<std::size_t>(tie)]);
    };
    std::vector<index_t> first(static_cast<std::size_t>(pieces) + 1, 0);
    for (index_t piece = 0; piece < pieces; ++piece) {
      index_t& next = first[static_cast<std::size_t>(piece) + 1];
      next = first[static_cast<std::size_t>(piece)];
      in_piece(piece, [&](Range tie) { next += tie.size(); });
    }
    machine::parallel(how_.threads, [&] {
      machine::parallel_for(0, pieces, 1, [&](index_t piece, index_t) {
        index_t before = first[static_cast<std::size_t>(piece)];
        in_piece(piece, [&](Range tie) {
          f(tie, before);
          before += tie.size();
        });
      });
    });
  }

  /// Fetches the digit of all tied rows.
  void fetch(std::size_t digit) {
    how_.digit_of_rows(digit, how_.of_rows.data(), how_.of_ties.data());
    const mpi::PhaseScope scope(phases_, "permute");
    index_t count = 0;
    for (const Range tie : ties_) count += tie.size();
    std::vector<std::uint64_t> rows;
    mpi::together(how_.comm, "sort", [&] { rows.resize(static_cast<std::size_t>(count)); });
    for_each_tie([&](Range tie, index_t before) {
      for (index_t row = tie.begin; row < tie.end; ++row)
        rows[static_cast<std::size_t>(before++)] = pairs_[static_cast<std::size_t>(row)].index;
    });
    gather<std::uint64_t>(how_.comm, how_.map, how_.of_rows.data(), rows, how_.of_ties.data(),
                          how_.threads);
    for_each_tie([&](Range tie, index_t before) {
      for (index_t row = tie.begin; row < tie.end; ++row)
        pairs_[static_cast<std::size_t>(row)].key =
            how_.of_ties[static_cast<std::size_t>(before++)];
    });
  }

  /// Return the rows of this rank that are tied with those of other ranks: the first ones, and the
  /// last ones, which may be the same.
  [[nodiscard]] Range first_tie() const { return joins_the_one_before() ? ties_.front() : Range{}; }
  [[nodiscard]] Range last_tie() const { return joins_the_next() ? ties_.back() : Range{}; }

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
  std::vector<Range> ties_;   // of rows of this rank
};

}  // namespace

bool break_ties(const TieBreak& how, std::span<Pair> pairs, mpi::Phases& phases) {
  return Ties(how, pairs, phases).run();
}

}  // namespace tessera::dist::sort
