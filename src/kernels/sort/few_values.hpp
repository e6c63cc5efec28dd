#pragma once
// Keys of which each comes many times.

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// Of a sample, the share of keys that are in it once: about that of keys which are not in it at all (Good
/// 1953). 1 where there are too few keys to tell.
template <class B>
[[nodiscard]] double share_seen_once(const Block<B>& block);

/// Sorts the keys by counting each distinct one, wherever they lie in the range. false where there are more
/// than a few thousand; the keys are as they were then. On the threads of the region it is called in. The
/// scratch memory is not touched.
template <class B>
[[nodiscard]] bool sort_few_values(const Block<B>& block);

}  // namespace tessera::sort
