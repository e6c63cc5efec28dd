#pragma once
// Reads of boxes of open datasets, in calls within the library's limits, and search for the number
// on which a call fails.

#include <hdf5.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::io {

using Ranges = std::vector<layout::Range>;

/// Calls body(part) for parts of a box in row-major order, each of at most `most` elements (and at
/// least one).
void each_piece(std::span<const layout::Range> box, index_t most,
                const std::function<void(const Ranges&)>& body);

/// Returns the first element of a box, in row-major order, that a reader rejects, by bisection.
/// holds: whether it accepts a whole part; it must reject the box.
[[nodiscard]] std::vector<index_t> first_refused(Ranges box,
                                                 const std::function<bool(const Ranges&)>& holds);

/// A dense array in memory, with one dimension for each of the dataset's.
struct HeldArray {
  hid_t type;
  void* data;
  index_t element_bytes;
  std::vector<index_t> extents;
};

/// The bytes of a page of memory and of file caches.
inline constexpr index_t page_bytes = 4096;
/// The maximal bytes of one call: larger ones have failed in HDF5 and MPI-IO, and from raw files
/// (external storage) HDF5 1.10 reads at most 2 GiB per call and sets the rest to zero.
inline constexpr index_t most_piece_bytes = index_t{1} << 30;

/// Reads a box of a dataset to the array's beginning. Throws Error(bad_data) with the number, and
/// its position, that the array's type cannot hold.
void read_pieces(hid_t dataset, const std::string& name, const Ranges& box, const HeldArray& to,
                 index_t most_bytes = most_piece_bytes);

}  // namespace tessera::inline v1::io
