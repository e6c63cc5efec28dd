#pragma once
// Sorting of keys with few distinct values.

#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

/// Fractions of a sample; 1 for too few keys for an estimate.
struct Repeats {
  double once = 1;      ///< keys seen once: estimates the fraction of keys whose values the sample
                        ///< lacks (Good 1953)
  double distinct = 1;  ///< distinct values
};
template <class B>
[[nodiscard]] Repeats glance_at_repeats(const Block<B>& block);

/// Sorts the keys by counting each distinct value, in any range. Returns false, with the keys
/// unchanged, if there are more than a few thousand. Runs on the threads of the enclosing parallel
/// region. Does not use the scratch memory.
template <class B>
[[nodiscard]] bool sort_few_values(const Block<B>& block);

}  // namespace tessera::inline v1::sort
