#pragma once
// Counts what the test program allocates.

#include <cstddef>

namespace tessera {

/// Returns the bytes that operator new has given out so far, on all threads.
[[nodiscard]] std::size_t allocated_bytes();

}  // namespace tessera
