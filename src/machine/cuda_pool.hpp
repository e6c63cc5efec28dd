#pragma once
// Caches of device and pinned memory: cudaMalloc and, more so, page-locking take longer than many
// kernels, and repetitions request the same sizes.

#include "base/index.hpp"

namespace tessera::inline v1::machine::cuda {

/// A block of the current device's memory, of pinned host memory or of managed memory.
struct Piece {
  void* data = nullptr;
  index_t bytes = 0;
  int device = 0;
};

/// Allocates device memory. Throws Error(memory) if it is insufficient even after all kept blocks
/// have been released.
[[nodiscard]] Piece take_device(index_t bytes);
/// Returns a block to the cache after waiting for the device, as cudaFree does: no pending kernel
/// can write to it later.
void give_device(const Piece& piece) noexcept;

[[nodiscard]] Piece take_pinned(index_t bytes);
void give_pinned(const Piece& piece) noexcept;

/// Allocates managed memory, which migrates on access; it is never kept.
[[nodiscard]] Piece take_managed(index_t bytes);
void give_managed(const Piece& piece) noexcept;

/// Releases all kept blocks to the system.
void release_kept() noexcept;
[[nodiscard]] index_t kept_device_bytes();

}  // namespace tessera::inline v1::machine::cuda
