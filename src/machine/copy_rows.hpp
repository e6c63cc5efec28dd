#pragma once
// Multi-threaded copies between a user's matrix and a packed one.

#include <cstddef>

#include "base/view.hpp"

namespace tessera::inline v1::machine {

/// Copies to[0:m, 0:n] = from[0:m, 0:n]; they must not overlap. Whole lines use streaming stores,
/// which avoid the read for ownership: the next reader is the device, or much later.
void copy_rows(MatrixView<const std::byte> from, MatrixView<std::byte> to, int threads);

}  // namespace tessera::inline v1::machine
