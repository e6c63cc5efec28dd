#pragma once
// Boxes of opened datasets, in calls of the library that move no more than it can, and where in a
// box the number is that stops a call.

#include <hdf5.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::io {

using Ranges = std::vector<layout::Range>;

/// body(part) for parts of a box in row-major order, each of at most `most` elements (and at least
/// one).
void each_piece(std::span<const layout::Range> box, index_t most,
                const std::function<void(const Ranges&)>& body);

/// The first element of a box, in row-major order, that a reader refuses. holds: whether it takes a
/// whole part of the box; it does not take this one.
[[nodiscard]] std::vector<index_t> first_refused(Ranges box,
                                                 const std::function<bool(const Ranges&)>& holds);

/// An array in memory of those extents, dense, one dimension for each of the dataset's.
struct HeldArray {
  hid_t type;
  void* data;
  index_t element_bytes;
  std::vector<index_t> extents;
};

/// What one call reads at most: larger ones have failed in HDF5 and MPI-IO, and of a raw file
/// beside (external storage) HDF5 1.10 gets no more than 2 GiB in one, and makes zeros of the rest.
inline constexpr index_t most_piece_bytes = index_t{1} << 30;

/// Reads a box of a dataset to the array's beginning. Throws Error(bad_data) with the number and
/// its position that the array's type cannot hold.
void read_pieces(hid_t dataset, const std::string& name, const Ranges& box, const HeldArray& to,
                 index_t most_bytes = most_piece_bytes);

}  // namespace tessera::io
