#pragma once
// Copies between a matrix as its user has it and a packed one, by several threads.

#include <cstddef>

#include "base/view.hpp"

namespace tessera::machine {

/// to[0:m, 0:n] = from[0:m, 0:n]; they do not overlap. Whole lines go past the caches: they need
/// not be read first, and who reads them next is the device or comes much later.
void copy_rows(MatrixView<const std::byte> from, MatrixView<std::byte> to, int threads);

}  // namespace tessera::machine
