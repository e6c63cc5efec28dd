#pragma once
// Sorting with less scratch than keys.

#include <span>
#include <string_view>

#include "kernels/sort/variants.hpp"

namespace tessera::sort {

/// keys by `order`, in place: partitioned about sampled pivots until the parts fit into the scratch
/// (not empty), then each part by the variant of that name (variants.hpp). On the threads of the
/// region it is called in. Throws Error(usage) as sort_keys.
template <class T>
void sort_in_parts(std::string_view variant, std::span<T> keys, std::span<T> scratch,
                   Order order = Order::ascending, const Tuning& tuning = {});

}  // namespace tessera::sort
