#pragma once
// Reads of compressed chunks by several threads: HDF5, one thread at a time, only copies the stored
// bytes; filters and number conversions are applied outside of it.

#include <optional>
#include <string>
#include <vector>

#include "io/pieces.hpp"

namespace tessera::inline v1::io {

/// Returns the bytes of the buffers in which up to `threads` threads decode chunks of that size.
[[nodiscard]] index_t decode_bytes(index_t chunk_bytes, int threads);

/// Reads a box of a dataset to the array's beginning, by machine::default_threads() threads, and
/// returns the parts whose chunks are not stored, which the library fills. Returns none, with the
/// array undefined, if the library has to read: for chunks without filters or with others than
/// filters.hpp's, for conversions other than those of numbers, for numbers that the array's type
/// cannot represent, and for a part of a single chunk, which the library caches. Throws
/// Error(bad_data) for a damaged chunk, with its position.
[[nodiscard]] std::optional<std::vector<Ranges>> decode_box(hid_t dataset, const std::string& name,
                                                            const Ranges& box, const HeldArray& to);

}  // namespace tessera::inline v1::io
