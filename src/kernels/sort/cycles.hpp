#pragma once
// Cycles of a permutation, cut by leaders: the choice of the leaders, and the cycles without one.
// source[row] is the row whose content row receives, or row itself once it is done.

#include <atomic>

#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t leader_step = 256;  // rows per leader

/// Returns the leader among the k-th 256 of n rows, chosen pseudo-randomly: permutations, too, have
/// regularities at powers of two.
[[nodiscard]] inline index_t leader_of(index_t k, index_t n) {
  const std::uint64_t at = (static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u) >> 56;
  return std::min(n - 1, k * leader_step + static_cast<index_t>(at));
}

/// Returns source[row], while other threads close cycles.
template <class Index>
[[nodiscard]] index_t source_of(Index* source, index_t row) {
  return static_cast<index_t>(std::atomic_ref(source[row]).load(std::memory_order_relaxed));
}

enum class Begins { none, a_cycle, perhaps_a_long_one };

/// Returns whether this is the least row of a cycle that no thread has begun; each cycle belongs to
/// one thread.
template <class Index>
[[nodiscard]] Begins begins_cycle(Index* source, index_t first) {
  constexpr int most_steps = 1 << 13;  // longer ones lack a leader with probability e^-32
  index_t row = first;
  for (int step = 0; step < most_steps; ++step) {
    const index_t from = source_of(source, row);
    if (from == first) return row == first ? Begins::none : Begins::a_cycle;
    if (from < first || from == row) return Begins::none;
    row = from;
  }
  return Begins::perhaps_a_long_one;
}

/// Closes the cycles without a leader: close(first), returned by closer() for each task, moves all
/// rows of one to their places and marks them in source[0:n]; ahead(row) prefetches a row that will
/// soon be read.
template <class Index, class Ahead, class Closer>
void close_cycles(index_t n, Index* source, index_t grain, const Ahead& ahead,
                  const Closer& closer) {
  std::atomic<bool> is_left = false;
  machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
    auto close = closer();
    for (index_t row = begin; row < end; ++row) {
      const index_t later = std::min(row + 16, n - 1), its = source_of(source, later);
      if (its > later) ahead(its);
      const Begins begins = begins_cycle(source, row);
      if (begins == Begins::a_cycle) close(row);
      if (begins == Begins::perhaps_a_long_one) is_left = true;
    }
  });
  if (!is_left) return;
  auto close = closer();
  for (index_t row = 0; row < n; ++row)
    if (source_of(source, row) != row) close(row);
}

}  // namespace tessera::inline v1::sort
