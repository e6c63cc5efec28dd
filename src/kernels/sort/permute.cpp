// In-place permutation along cycles, which reads and writes every row once: half the traffic of an
// ordered copy, and no additional memory. A cycle is a long chain of dependent cache misses, so it
// is cut: one of every 256 rows, a leader, is saved, and chains begin at leaders and end before the
// next one. A thread interleaves many chains, whose next rows are prefetched one round ahead. Short
// cycles without a leader are closed last.

#include "kernels/sort/permute.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/sort/common.hpp"
#include "kernels/sort/copy_row.hpp"
#include "kernels/sort/cycles.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t chains_at_once = 24;  // per thread
constexpr int second_level =
    2;  // prefetch target: more lines can be in flight to it than to the first level
constexpr index_t chains_of_task = 128;
constexpr index_t rows_at_once = 4096;  // that a thread searches for cycles

template <class Index>
class InPlace {
 public:
  /// Constructs the permutation; source[0 : rows.n] is overwritten.
  InPlace(const Rows& rows, Index* source)
      : rows_(rows), source_(source), kept_(ceil_div(rows.n, leader_step) * rows.bytes) {}

  void permute() {
    const index_t leaders = ceil_div(rows_.n, leader_step);
    machine::parallel_for(0, leaders, chains_of_task, [&](index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) copy_row(rows_[leader(k)], kept(k), rows_.bytes);
    });
    machine::parallel_for(0, leaders, chains_of_task,
                          [&](index_t begin, index_t end) { follow(begin, end); });
    const auto ahead = [this](index_t row) { call_ahead(row); };
    close_cycles(rows_.n, source_, rows_at_once, ahead, [this] {
      return [this, first = machine::Buffer<std::byte>(rows_.bytes)](index_t row) mutable {
        close_cycle(row, first.data());
      };
    });
  }

 private:
  [[nodiscard]] index_t leader(index_t k) const { return leader_of(k, rows_.n); }
  [[nodiscard]] index_t source(index_t row) const { return source_of(source_, row); }
  [[nodiscard]] std::byte* kept(index_t leader) { return kept_.data() + leader * rows_.bytes; }
  void is_done(index_t row) {
    std::atomic_ref(source_[row]).store(static_cast<Index>(row), std::memory_order_relaxed);
  }

  /// Prefetches a row. Inlined, because GCC 12 drops calls of a function that only prefetches.
  [[gnu::always_inline]] void call_ahead(index_t row) const {
    const std::byte* const first = rows_[row];
    for (index_t b = 0; b < std::min<index_t>(rows_.bytes, 256); b += 64)
      __builtin_prefetch(first + b, 0, second_level);
    __builtin_prefetch(first + rows_.bytes - 1, 0, second_level);
    __builtin_prefetch(source_ + row, 0, second_level);
  }

  /// Follows the chains that begin at the leaders [begin, end).
  void follow(index_t begin, index_t end) {
    std::array<index_t, chains_at_once> at;  // of each chain: the next row to write
    std::size_t live = 0;
    index_t next = begin;
    for (; live < at.size() && next < end; ++next) at[live++] = leader(next);
    while (live > 0) {
      for (std::size_t c = 0; c < live;) {
        const index_t row = at[c], from = source(row);
        is_done(row);
        if (from != leader(from / leader_step)) {
          copy_row(rows_[from], rows_[row], rows_.bytes);
          at[c] = from;
          call_ahead(source(from));
          ++c;
        } else {
          copy_row(kept(from / leader_step), rows_[row], rows_.bytes);
          if (next < end)
            at[c] = leader(next++);
          else
            at[c] = at[--live];
        }
      }
    }
  }

  /// Closes the cycle of this row, which has no leader; the row is saved at `saved`.
  void close_cycle(index_t first, std::byte* saved) {
    copy_row(rows_[first], saved, rows_.bytes);
    index_t row = first;
    for (index_t from = source(row); from != first; from = source(row)) {
      copy_row(rows_[from], rows_[row], rows_.bytes);
      is_done(row);
      row = from;
    }
    copy_row(saved, rows_[row], rows_.bytes);
    is_done(row);
  }

  Rows rows_;
  Index* source_;  // of a row: the row whose content it receives; itself once done
  machine::Buffer<std::byte> kept_;  // the original leaders
};

bool few_enough(index_t rows) {
  return rows <= static_cast<index_t>(std::numeric_limits<std::uint32_t>::max());
}

template <class Index>
void permute_copied(const Rows& rows, const std::uint64_t* order) {
  machine::Buffer<Index> source(rows.n);
  machine::parallel_for(0, rows.n, task_grain, [&](index_t begin, index_t end) {
    for (index_t j = begin; j < end; ++j) source[j] = static_cast<Index>(order[j]);
  });
  InPlace<Index>(rows, source.data()).permute();
}

}  // namespace

void permute_in_place(const Rows& rows, std::span<const std::uint64_t> order) {
  TESSERA_EXPECTS(static_cast<index_t>(order.size()) == rows.n);
  if (rows.n < 2 || rows.bytes == 0) return;
  if (few_enough(rows.n))
    permute_copied<std::uint32_t>(rows, order.data());
  else
    permute_copied<std::uint64_t>(rows, order.data());
}

}  // namespace tessera::inline v1::sort
