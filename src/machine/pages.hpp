#pragma once
// Memory that is ours but holds nothing.

#include "base/index.hpp"

namespace tessera::machine {

/// Lets the system have the whole pages of data[0:bytes], whose values are lost; they stay ours to write
/// again.
void give_back(void* data, index_t bytes) noexcept;

}  // namespace tessera::machine
