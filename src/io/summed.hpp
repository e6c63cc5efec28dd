#pragma once
// Elements on their way to a file, or as they lie in it, and what they contribute to the checksum
// of their dataset: few enough at a time for a cache to hold them in between.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/raw_file.hpp"
#include "layout/block_map.hpp"

namespace tessera::io {

/// Elements of some size in a file, the first of all at a byte.
struct StoredElements {
  const RawFile& file;
  index_t offset;
  index_t element_bytes;
};

/// Is told of what is on its way, groups of so many elements after the other, while a cache holds
/// them.
struct Onlooker {
  index_t elements = 1;
  std::function<void(std::span<const std::byte>)> look = nullptr;
};

/// Writes whole elements, from element `first` on. Returns their checksum. Throws Error(io,
/// cannot_create).
[[nodiscard]] std::uint64_t write_summed(const StoredElements& to, index_t first,
                                         std::span<const std::byte> data,
                                         const Onlooker& onlooker = {});
/// The checksum of some elements as the file has them, by way of a buffer of any size. Throws
/// Error(io).
[[nodiscard]] std::uint64_t sum_stored(const StoredElements& from, layout::Range elements,
                                       std::vector<std::byte>& buffer);

}  // namespace tessera::io
