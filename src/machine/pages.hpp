#pragma once
// Memory that is ours but holds nothing.

#include "base/index.hpp"

namespace tessera::machine {

/// Lets the system have the whole pages of data[0:bytes], whose values are lost; they stay ours to
/// write again.
void give_back(void* data, index_t bytes) noexcept;

/// The same of all that was allocated and released again: malloc keeps blocks of less than 32 MiB
/// for the next, which fits into few of them where sizes differ. Walks through all of them.
void give_back_released() noexcept;

/// From now on the system gets blocks of a MiB and more as soon as they are released, and new ones
/// come in pages that are touched for the first time: the least memory, not the fastest.
void give_back_at_once() noexcept;

}  // namespace tessera::machine
