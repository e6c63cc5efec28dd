#pragma once
// Copies of single rows of any size.

#include <cstddef>
#include <cstring>

#include "base/index.hpp"

namespace tessera::inline v1::sort {

/// Copies to[0:bytes] = from[0:bytes], two different rows, in pieces of 16 bytes, the last of which
/// overlaps.
[[gnu::always_inline]] inline void copy_row(const std::byte* from, std::byte* to, index_t bytes) {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes < 16) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    for (index_t b = 0; b + 16 < bytes; b += 16) std::memcpy(to + b, from + b, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  }
}

}  // namespace tessera::inline v1::sort
