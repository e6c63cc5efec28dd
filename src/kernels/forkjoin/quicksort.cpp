// The textbook's fork-join quicksort: partition on one thread, so that the first pass over all keys alone
// bounds the parallelism by about lg n.

#include <algorithm>

#include "kernels/forkjoin/keys.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

/// data[0:result] <= pivot <= data[result:n], both sides shorter than n (Hoare 1962).
index_t partition(std::uint64_t* data, index_t n) {
  const std::uint64_t a = data[0], b = data[n / 2], c = data[n - 1];
  const std::uint64_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
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

void serial(std::uint64_t* data, index_t n) {
  while (n > insertion_leaf) {
    const index_t left = partition(data, n);
    serial(data, left);
    data += left;
    n -= left;
  }
  insertion_sort(data, n);
}

void forked(std::uint64_t* data, index_t n, index_t threshold) {
  if (n <= std::max(threshold, insertion_leaf)) return serial(data, n);
  const index_t left = partition(data, n);
  machine::fork_join([=] { forked(data, left, threshold); },
                     [=] { forked(data + left, n - left, threshold); });
}

class Quicksort final : public SortProblem {
 public:
  Quicksort(index_t n, index_t threshold) : SortProblem(n), threshold_(threshold) {}
  void run() override { forked(keys().data(), keys().size(), threshold_); }

 private:
  index_t threshold_;
};

}  // namespace

std::unique_ptr<Problem> quicksort(index_t n, index_t threshold) {
  return std::make_unique<Quicksort>(n, threshold);
}

}  // namespace tessera::forkjoin
