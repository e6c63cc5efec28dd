#pragma once
// The order of keys anywhere in memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"
#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

/// Keys of a caller: key i is at data + i * stride (bytes), aligned or not.
struct Keys {
  const std::byte* data = nullptr;
  index_t stride = 0;
  index_t n = 0;
};

/// The least keys for which a thread pays off.
inline constexpr index_t keys_of_thread = 1 << 16;

/// Computes order[j] = the number of the key that belongs at j, stably, on up to `threads` threads,
/// outside of any parallel region. Keys are compared as numbers: -0 equals 0, and all NaN are equal
/// and last. Needs 40 bytes per key.
template <class T>
void argsort_keys(const Keys& keys, Order order, std::span<std::uint64_t> result, int threads);

/// Returns the bytes of a machine::Workspace from which argsort_keys allocates all for n keys.
template <class T>
[[nodiscard]] index_t argsort_workspace_bytes(index_t n, int threads);

}  // namespace tessera::inline v1::sort
