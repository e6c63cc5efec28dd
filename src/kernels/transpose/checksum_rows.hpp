#pragma once
// Checksums of rows, compiled per instruction set.

#include <cstddef>
#include <cstdint>

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::transpose {

/// A function that returns the sum over j of mix64(record j ^ (row_key + col_keys[j])), 0 <= j <
/// count, for records of `bytes` bytes.
using ChecksumRow = std::uint64_t(const std::byte* row, index_t count, index_t bytes,
                                  std::uint64_t row_key, const std::uint64_t* col_keys);

namespace baseline {
ChecksumRow checksum_row;
}
namespace bits256 {
ChecksumRow checksum_row;
}
namespace bits512 {
ChecksumRow checksum_row;
}

[[nodiscard]] ChecksumRow* checksum_row(machine::Isa isa);

}  // namespace tessera::inline v1::transpose
