#pragma once
// Large blocks of memory from the system, kept for the next ones once they are freed.

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Returns `bytes` bytes, aligned to 2 MiB: a kept block with its pages if one is large enough,
/// whose other pages it releases, otherwise newly mapped. Releases kept blocks, the oldest first,
/// as far as they and those in use would be more bytes than were in use at once since
/// release_kept_blocks: the peak is that of the blocks in use. Returns nullptr if the system
/// refuses. Thread-safe.
[[nodiscard]] void* take_block(index_t bytes);

/// Keeps the block if it has less than 32 MiB, otherwise releases it to the system. Returns false
/// if it is not from take_block. Thread-safe.
bool give_block(void* data) noexcept;

/// Releases all kept blocks to the system.
void release_kept_blocks() noexcept;

/// Releases all kept blocks, and makes give_block release every block from now on.
void keep_no_blocks() noexcept;

}  // namespace tessera::inline v1::machine
