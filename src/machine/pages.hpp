#pragma once
// Release of unused physical memory.

#include "base/index.hpp"

namespace tessera::machine {

/// Releases the whole pages of data[0:bytes] to the system; their values are lost, the addresses
/// stay valid.
void give_back(void* data, index_t bytes) noexcept;

/// Releases freed blocks below 32 MiB, those of buffers and those that malloc retains. Walks over
/// all of them.
void give_back_released() noexcept;

/// Makes buffers and malloc return blocks from 2 and 1 MiB on to the system as soon as they are
/// freed; new ones then fault their pages in: minimal memory, not maximal speed.
void give_back_at_once() noexcept;

}  // namespace tessera::machine
