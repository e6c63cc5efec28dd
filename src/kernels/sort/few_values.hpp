#pragma once
// Keys of which each comes many times.

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// Shares of a sample. Where there are too few keys to tell, 1.
struct Repeats {
  double once =
      1;  ///< keys seen once: about the share of those not in the sample at all (Good 1953)
  double distinct = 1;  ///< values
};
template <class B>
[[nodiscard]] Repeats glance_at_repeats(const Block<B>& block);

/// Sorts the keys by counting each distinct one, wherever they lie in the range. false where there
/// are more than a few thousand; the keys are as they were then. On the threads of the region it is
/// called in. The scratch memory is not touched.
template <class B>
[[nodiscard]] bool sort_few_values(const Block<B>& block);

}  // namespace tessera::sort
