// Merge sort with a merge on one thread, whose last pass over all keys bounds the parallelism by about lg n,
// and with a forked one (Cormen et al. 2009, 27.3): span lg^3 n.

#include <algorithm>

#include "kernels/forkjoin/keys.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

using Key = std::uint64_t;

enum class Merge { serial, forked };

/// Two sorted sequences.
struct Pieces {
  const Key* a;
  index_t na;
  const Key* b;
  index_t nb;
};

void merge_serial(Pieces from, Key* to) {
  const Key* const a_end = from.a + from.na;
  const Key* const b_end = from.b + from.nb;
  while (from.a != a_end && from.b != b_end) {
    const bool second = *from.b < *from.a;
    *to++ = second ? *from.b : *from.a;
    from.b += second ? 1 : 0;
    from.a += second ? 0 : 1;
  }
  std::copy(from.b, b_end, std::copy(from.a, a_end, to));
}

/// The longer side is halved, its middle key searched in the other.
void merge_forked(Pieces from, Key* to, index_t threshold) {
  if (from.na + from.nb <= std::max<index_t>(threshold, 2)) return merge_serial(from, to);
  const bool halve_a = from.na >= from.nb;
  const index_t a =
      halve_a ? from.na / 2 : std::upper_bound(from.a, from.a + from.na, from.b[from.nb / 2]) - from.a;
  const index_t b =
      halve_a ? std::lower_bound(from.b, from.b + from.nb, from.a[from.na / 2]) - from.b : from.nb / 2;
  const Pieces low{from.a, a, from.b, b};
  const Pieces high{from.a + a, from.na - a, from.b + b, from.nb - b};
  machine::fork_join([=] { merge_forked(low, to, threshold); },
                     [=] { merge_forked(high, to + a + b, threshold); });
}

void serial(Key* data, Key* scratch, index_t n, Key* result) {
  if (n <= insertion_leaf) {
    insertion_sort(data, n);
    if (result != data) std::copy(data, data + n, result);
    return;
  }
  const index_t half = n / 2;
  Key* const parts = result == data ? scratch : data;
  serial(data, scratch, half, parts);
  serial(data + half, scratch + half, n - half, parts + half);
  merge_serial({parts, half, parts + half, n - half}, result);
}

/// Sorts data[0:n] into result, which is data or scratch.
void forked(Key* data, Key* scratch, index_t n, Key* result, index_t threshold, Merge merge) {
  if (n <= std::max(threshold, insertion_leaf)) return serial(data, scratch, n, result);
  const index_t half = n / 2;
  Key* const parts = result == data ? scratch : data;
  machine::fork_join([=] { forked(data, scratch, half, parts, threshold, merge); },
                     [=] { forked(data + half, scratch + half, n - half, parts + half, threshold, merge); });
  const Pieces pieces{parts, half, parts + half, n - half};
  if (merge == Merge::serial) {
    merge_serial(pieces, result);
  } else {
    merge_forked(pieces, result, threshold);
  }
}

class Mergesort final : public SortProblem {
 public:
  Mergesort(index_t n, index_t threshold, Merge merge)
      : SortProblem(n), scratch_(n), threshold_(threshold), merge_(merge) {}
  void run() override {
    forked(keys().data(), scratch_.data(), keys().size(), keys().data(), threshold_, merge_);
  }

 private:
  machine::Buffer<Key> scratch_;
  index_t threshold_;
  Merge merge_;
};

}  // namespace

std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, threshold, Merge::serial);
}

std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold) {
  return std::make_unique<Mergesort>(n, threshold, Merge::forked);
}

}  // namespace tessera::forkjoin
