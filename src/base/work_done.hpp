#pragma once
// What this process has done so far, counted where it happens. Long steps show their progress by it
// (progress.hpp).

#include <atomic>
#include <cmath>

#include "base/index.hpp"

namespace tessera::inline v1 {

struct WorkDone {
  std::atomic<index_t> bytes_read{0}, bytes_written{0};
  std::atomic<index_t> steps{0};
  std::atomic<index_t> multiplied{0};  ///< multiplications of products
  /// Keys times binary digits of their places: the sort of n keys finds n log2(n) of them,
  /// the division into p parts or the merge of p runs n log2(p).
  std::atomic<index_t> placed{0};
};

inline constinit WorkDone own_work;
inline constinit WorkDone* counted_work = &own_work;

[[nodiscard]] inline WorkDone& work_done() { return *counted_work; }
/// Counts in `other` from now on: a process has one count, though a library may hold a copy of it.
inline void count_work_in(WorkDone& other) { counted_work = &other; }

// Parts of this size are counted one by one, smaller ones together: counting takes 5 to 50 ns, they
// take 0.1 ms and more.
inline constexpr index_t counted_products = index_t{1} << 22, counted_keys = index_t{1} << 17;

inline void count_multiplied(index_t products) {
  work_done().multiplied.fetch_add(products, std::memory_order_relaxed);
}
inline void count_placed(index_t keys, double digits) {
  work_done().placed.fetch_add(static_cast<index_t>(static_cast<double>(keys) * digits),
                               std::memory_order_relaxed);
}

/// Counts a part of `part` keys that is sorted, unless the whole around it is counted at once.
inline void count_sorted_part(index_t whole, index_t part) {
  if (whole > counted_keys && part <= counted_keys && part > 1)
    count_placed(part, std::log2(static_cast<double>(part)));
}
/// Counts the division of `whole` keys into parts, or their merge, unless they are counted at once.
inline void count_level(index_t whole, index_t parts) {
  if (whole > counted_keys) count_placed(whole, std::log2(static_cast<double>(parts)));
}

}  // namespace tessera::inline v1
