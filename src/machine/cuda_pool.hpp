#pragma once
// Device and pinned memory that comes back is kept for the next request: cudaMalloc and, more so,
// the pinning of pages take longer than many a kernel, and repetitions ask for the same sizes
// again.

#include "base/index.hpp"

namespace tessera::machine::cuda {

/// A piece of the current device's memory, or of pinned host memory.
struct Piece {
  void* data = nullptr;
  index_t bytes = 0;
  int device = 0;
};

/// Throws Error(memory) when the device has no more, after what was kept has been given back.
[[nodiscard]] Piece take_device(index_t bytes);
/// What was started with it before is waited for, as cudaFree does: nobody who gets it next can
/// meet a kernel that still writes to it.
void give_device(const Piece& piece) noexcept;

[[nodiscard]] Piece take_pinned(index_t bytes);
void give_pinned(const Piece& piece) noexcept;

/// Memory that moves between host and device as it is touched; never kept.
[[nodiscard]] Piece take_managed(index_t bytes);
void give_managed(const Piece& piece) noexcept;

/// Gives everything that is kept back to the system.
void release_kept() noexcept;
[[nodiscard]] index_t kept_device_bytes();

}  // namespace tessera::machine::cuda
