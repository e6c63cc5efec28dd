#pragma once
// Super scalar sample sort (Sanders and Winkel 2004) with equality buckets (Axtmann et al. 2017): a
// sample yields up to 128 splitters, an implicit tree classifies without branches, buckets are
// tasks. A template for plain and traced items.

#include <array>

#include "base/hash.hpp"
#include "base/instrument.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/distribute.hpp"

namespace tessera::inline v1::sort {

inline constexpr int samplesort_levels = 7;
inline constexpr index_t samplesort_leaves = index_t{1} << samplesort_levels;
inline constexpr index_t samplesort_oversampling = 8;
inline constexpr index_t samplesort_small = 4096;

/// A classifier of items by a search tree. Bucket 2i is between splitters i-1 and i; bucket 2i+1
/// equals splitter i.
template <class Item>
struct Classifier {
  std::array<Item, samplesort_leaves> tree;  // tree[1] is the root, children of i are 2i and 2i+1
  std::array<Item, samplesort_leaves> splitters;  // ascending; the last is repeated

  [[nodiscard]] index_t operator()(const Item& item) const {
    std::size_t node = 1;
    for (int level = 0; level < samplesort_levels; ++level)
      node = 2 * node + (tree[node] < item ? 1 : 0);
    const std::size_t below =
        node - samplesort_leaves;  // splitters less than the item, at most samplesort_leaves - 1
    return static_cast<index_t>(2 * below + (splitters[below] == item ? 1 : 0));
  }
};

template <class Item>
void build_tree(Classifier<Item>& classifier, std::size_t node, std::size_t begin,
                std::size_t end) {
  if (node >= classifier.tree.size()) return;
  const std::size_t middle = (begin + end) / 2;
  classifier.tree[node] = classifier.splitters[middle];
  build_tree(classifier, 2 * node, begin, middle);
  build_tree(classifier, 2 * node + 1, middle + 1, end);
}

template <class Item>
Classifier<Item> sample_classifier(const Item* data, index_t n) {
  constexpr index_t samples = samplesort_oversampling * samplesort_leaves;
  std::array<Item, samples> sample;
  for (index_t i = 0; i < samples; ++i) {
    const std::uint64_t at = mix64(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(n);
    sample[static_cast<std::size_t>(i)] = data[at];
  }
  std::sort(sample.begin(), sample.end());
  Classifier<Item> classifier;
  std::size_t distinct = 0;
  for (index_t i = 1; i < samplesort_leaves; ++i) {
    const Item& candidate = sample[static_cast<std::size_t>(i * samplesort_oversampling)];
    if (distinct == 0 || classifier.splitters[distinct - 1] < candidate)
      classifier.splitters[distinct++] = candidate;
  }
  std::fill(classifier.splitters.begin() + static_cast<std::ptrdiff_t>(distinct),
            classifier.splitters.end(), classifier.splitters[distinct - 1]);
  build_tree(classifier, 1, 0, samplesort_leaves - 1);
  return classifier;
}

/// Sorts data[0:n]; the result is in `home`, which is data or scratch.
template <class Item>
void sort_sampled(Item* data, Item* scratch, Item* home, index_t n) {
  [[maybe_unused]] const Subproblem<Item> here;
  if (n <= samplesort_small) {
    std::sort(data, data + n);
    if (home != data) std::copy(data, data + n, home);
    return;
  }
  const Classifier<Item> classifier = sample_classifier(data, n);
  machine::Buffer<Like<Item, index_t>> begin(2 * samplesort_leaves + 1);
  distribute(data, scratch, n, 2 * samplesort_leaves, begin.data(), classifier,
             [](const Item& item) { return item; });
  count_level(n, samplesort_leaves);
  const index_t grain = n > 4 * task_grain && team() > 1 ? 1 : 2 * samplesort_leaves;
  machine::fork_for(0, 2 * samplesort_leaves, grain, [&](index_t first, index_t last) {
    for (index_t b = first; b < last; ++b) {
      const index_t at = begin[b], size = begin[b + 1] - at;
      if (b % 2 == 0) {
        sort_sampled(scratch + at, data + at, home + at, size);
      } else if (home != scratch) {
        std::copy(scratch + at, scratch + at + size, home + at);
      }
      count_sorted_part(n, size);
    }
  });
}

template <class Item>
void samplesort(const Block<Item>& block) {
  on_bits(block,
          [](Item* data, Item* scratch, index_t n) { sort_sampled(data, scratch, data, n); });
}

}  // namespace tessera::inline v1::sort
