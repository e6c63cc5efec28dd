#pragma once
// Copies between a matrix as its user has it and a packed one, by several threads.

#include <cstddef>

#include "base/view.hpp"

namespace tessera::machine {

enum class Stores {
  cached,     ///< what is written is soon read again on this side
  streaming,  ///< it is not: whole lines go past the caches and need not be read first
};

/// to[0:m, 0:n] = from[0:m, 0:n]; they do not overlap.
void copy_rows(MatrixView<const std::byte> from, MatrixView<std::byte> to, int threads, Stores stores);

}  // namespace tessera::machine
