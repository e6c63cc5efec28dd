#pragma once
// Reads and writes of elements that compute their contribution to the dataset's checksum, in blocks
// that stay in cache between the two.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/raw_file.hpp"
#include "layout/block_map.hpp"

namespace tessera::inline v1::io {

/// Elements of one size in a file, and the offset of the first.
struct StoredElements {
  const RawFile& file;
  index_t offset;
  index_t element_bytes;
};

/// Called with elements that are being written, in multiples of `elements`, while they are in
/// cache.
struct Onlooker {
  index_t elements = 1;
  std::function<void(std::span<const std::byte>)> look = nullptr;
};

/// Writes whole elements from element `first` on; returns their checksum. Throws Error(io,
/// cannot_create).
[[nodiscard]] std::uint64_t write_summed(const StoredElements& to, index_t first,
                                         std::span<const std::byte> data,
                                         const Onlooker& onlooker = {});
/// Returns the checksum of elements in the file; the buffer may have any size. Throws Error(io).
[[nodiscard]] std::uint64_t sum_stored(const StoredElements& from, layout::Range elements,
                                       std::vector<std::byte>& buffer);

}  // namespace tessera::inline v1::io
