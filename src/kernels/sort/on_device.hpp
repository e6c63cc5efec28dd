#pragma once
// Sorts of keys that a caller has in device memory.

#include "kernels/sort/argsort.hpp"

namespace tessera::inline v1::sort {

/// Sorts keys in memory of the current device into to[0 : n * sizeof(T)] there, which are the keys
/// themselves or separate memory, after all earlier work of the device; waits for the result. Keys
/// ascend in memory: stride >= sizeof(T). Needs memory for another copy. Throws Error(memory).
template <class T>
void sort_on_device(const Keys& keys, Order order, std::byte* to);

/// Computes the order likewise, as argsort_keys(). Needs twice the memory of the keys, and of the
/// result once.
template <class T>
void argsort_on_device(const Keys& keys, Order order, std::uint64_t* to);

}  // namespace tessera::inline v1::sort
