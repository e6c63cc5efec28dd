#pragma once
// Merge sort with a merge on one thread, whose last pass over all keys bounds the parallelism by
// about lg n, and with a forked one (Cormen et al. 2009, 27.3): span lg^3 n. A template for plain
// and traced keys.

#include <algorithm>

#include "base/instrument.hpp"
#include "kernels/forkjoin/keys.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

enum class Merge { serial, forked };
/// The length up to which a part is sorted serially, and the merge of longer ones.
struct MergesortMethod {
  index_t threshold;
  Merge merge;
};

/// Two sorted sequences.
template <class Key>
struct MergeInput {
  const Key* a;
  index_t na;
  const Key* b;
  index_t nb;
};

template <class Key>
void merge_serial(MergeInput<Key> from, Key* to) {
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

/// Merges by halving the longer side and searching its middle key in the other.
template <class Key>
void merge_forked(MergeInput<Key> from, Key* to, index_t threshold) {
  if (from.na + from.nb <= std::max<index_t>(threshold, 2)) return merge_serial(from, to);
  const bool halve_a = from.na >= from.nb;
  const index_t a = halve_a
                        ? from.na / 2
                        : std::upper_bound(from.a, from.a + from.na, from.b[from.nb / 2]) - from.a;
  const index_t b = halve_a
                        ? std::lower_bound(from.b, from.b + from.nb, from.a[from.na / 2]) - from.b
                        : from.nb / 2;
  const MergeInput<Key> low{from.a, a, from.b, b};
  const MergeInput<Key> high{from.a + a, from.na - a, from.b + b, from.nb - b};
  machine::fork_join([=] { merge_forked(low, to, threshold); },
                     [=] { merge_forked(high, to + a + b, threshold); });
}

template <class Key>
void mergesort_serial(Key* data, Key* scratch, index_t n, Key* result) {
  [[maybe_unused]] const Subproblem<Key> here;
  if (n <= insertion_leaf) {
    insert_keys(data, n);
    if (result != data) std::copy(data, data + n, result);
    return;
  }
  const index_t half = n / 2;
  Key* const parts = result == data ? scratch : data;
  mergesort_serial(data, scratch, half, parts);
  mergesort_serial(data + half, scratch + half, n - half, parts + half);
  merge_serial({parts, half, parts + half, n - half}, result);
}

/// Sorts data[0:n] into result, which is data or scratch.
template <class Key>
void mergesort_forked(Key* data, Key* scratch, index_t n, Key* result, MergesortMethod method) {
  if (n <= std::max(method.threshold, insertion_leaf))
    return mergesort_serial(data, scratch, n, result);
  [[maybe_unused]] const Subproblem<Key> here;
  const index_t half = n / 2;
  Key* const parts = result == data ? scratch : data;
  machine::fork_join(
      [=] { mergesort_forked(data, scratch, half, parts, method); },
      [=] { mergesort_forked(data + half, scratch + half, n - half, parts + half, method); });
  const MergeInput<Key> pieces{parts, half, parts + half, n - half};
  if (method.merge == Merge::serial) {
    merge_serial(pieces, result);
  } else {
    merge_forked(pieces, result, method.threshold);
  }
}

/// The merge sort probe.
template <class Key>
class Mergesort final : public SortProblem<Key> {
 public:
  Mergesort(index_t n, MergesortMethod method)
      : SortProblem<Key>(n), scratch_(n), method_(method) {}
  void run() override {
    Key* const data = this->keys().data();
    mergesort_forked(data, scratch_.data(), this->keys().size(), data, method_);
  }

 private:
  machine::Buffer<Key> scratch_;
  MergesortMethod method_;
};

}  // namespace tessera::inline v1::forkjoin
