#pragma once
// Counts what the test program allocates.

#include <cstddef>

namespace tessera {

/// Returns the bytes that operator new and aligned_alloc, hence Buffers below 2 MiB, have given out
/// so far, on all threads.
[[nodiscard]] std::size_t allocated_bytes();

}  // namespace tessera
