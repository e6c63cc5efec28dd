#pragma once
// Boxes of contiguous datasets, read by all threads of the rank: the library reads with one.

#include "io/pieces.hpp"

namespace tessera::inline v1::io {

/// Smaller boxes are left to the library: no second thread starts for them.
inline constexpr index_t least_contiguous_bytes = index_t{8} << 20;

/// Reads a box of a dataset to the array's beginning if its file holds the elements as the array
/// does, in runs of at least a page. Returns false, with anything in the box's part of the array,
/// if the library has to read it: other types, filters or storage, fewer than `least_bytes`, data
/// that the file lacks, or a file that this process also writes.
[[nodiscard]] bool read_contiguous(hid_t dataset, const Ranges& box, const HeldArray& to,
                                   index_t least_bytes = least_contiguous_bytes);

}  // namespace tessera::inline v1::io
