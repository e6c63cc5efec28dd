#pragma once
// Sorting with less scratch memory than keys.

#include <span>
#include <string_view>

#include "kernels/sort/variants.hpp"

namespace tessera::inline v1::sort {

/// Sorts keys by `order`, in place: partitions about sampled pivots until the parts fit the scratch
/// (not empty), then sorts each part by the variant of that name (variants.hpp). Runs on the
/// threads of the enclosing parallel region. Throws Error(usage) as sort_keys.
template <class T>
void sort_in_parts(std::string_view variant, std::span<T> keys, std::span<T> scratch,
                   Order order = Order::ascending, const Tuning& tuning = {});

}  // namespace tessera::inline v1::sort
