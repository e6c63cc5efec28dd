#pragma once
// Merging of two sorted sequences: sequentially without branches, and in parallel by median split.

#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {

/// Merges a[0:na] and b[0:nb] into to[0:na+nb]; among equal items those of a come first. `to`
/// overlaps neither, except that b may be the end of `to`.
template <class Item>
void merge_sequential(const Item* a, index_t na, const Item* b, index_t nb, Item* to) {
  const Item* const a_end = a + na;
  const Item* const b_end = b + nb;
  while (a != a_end && b != b_end) {
    const bool from_b = *b < *a;
    *to++ = from_b ? *b : *a;  // compiled to conditional moves: the outcome is random
    b += from_b ? 1 : 0;
    a += from_b ? 0 : 1;
  }
  to = std::copy(a, a_end, to);
  if (to != b) std::copy(b, b_end, to);
}

/// Merges with forks: halves the longer side and searches its middle item in the other (span
/// log^2 of the length).
template <class Item>
void merge_parallel(const Item* a, index_t na, const Item* b, index_t nb, Item* to) {
  if (na + nb <= task_grain) {
    merge_sequential(a, na, b, nb, to);
    return;
  }
  const index_t a_left = na >= nb ? na / 2 : upper_bound(a, na, b[nb / 2]);
  const index_t b_left = na >= nb ? lower_bound(b, nb, a[na / 2]) : nb / 2;
  machine::fork_join([=] { merge_parallel(a, a_left, b, b_left, to); },
                     [=] {
                       merge_parallel(a + a_left, na - a_left, b + b_left, nb - b_left,
                                      to + a_left + b_left);
                     });
}

}  // namespace tessera::inline v1::sort
