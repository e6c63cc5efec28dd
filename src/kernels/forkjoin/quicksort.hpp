#pragma once
// Textbook fork-join quicksort: partition on one thread, so that the first pass over all keys alone
// bounds the parallelism by about lg n. A template for plain and traced keys.

#include <algorithm>

#include "base/instrument.hpp"
#include "kernels/forkjoin/keys.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

/// Partitions such that data[0:result] <= pivot <= data[result:n], both sides shorter than n (Hoare
/// 1962).
template <class Key>
index_t partition(Key* data, index_t n) {
  const Key a = data[0], b = data[n / 2], c = data[n - 1];
  const Key pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
  index_t i = -1, j = n;
  for (;;) {
    do ++i;
    while (data[i] < pivot);
    do --j;
    while (pivot < data[j]);
    if (i >= j) return std::clamp<index_t>(i, 1, n - 1);
    std::swap(data[i], data[j]);
  }
}

template <class Key>
void quicksort_serial(Key* data, index_t n) {
  [[maybe_unused]] const Subproblem<Key> here;
  while (n > insertion_leaf) {
    const index_t left = partition(data, n);
    quicksort_serial(data, left);
    data += left;
    n -= left;
  }
  insert_keys(data, n);
}

template <class Key>
void quicksort_forked(Key* data, index_t n, index_t threshold) {
  if (n <= std::max(threshold, insertion_leaf)) return quicksort_serial(data, n);
  [[maybe_unused]] const Subproblem<Key> here;
  const index_t left = partition(data, n);
  machine::fork_join([=] { quicksort_forked(data, left, threshold); },
                     [=] { quicksort_forked(data + left, n - left, threshold); });
}

/// The quicksort probe.
template <class Key>
class Quicksort final : public SortProblem<Key> {
 public:
  Quicksort(index_t n, index_t threshold) : SortProblem<Key>(n), threshold_(threshold) {}
  void run() override { quicksort_forked(this->keys().data(), this->keys().size(), threshold_); }

 private:
  index_t threshold_;
};

}  // namespace tessera::inline v1::forkjoin
