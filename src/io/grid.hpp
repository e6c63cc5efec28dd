#pragma once
// Transfers of boxes of fields between memory, with padded rows, and datasets, without padding.

#include <cstdint>
#include <functional>

#include "base/grid_view.hpp"
#include "io/dataset.hpp"

namespace tessera::inline v1::io {

/// Reads the dataset's box (unpacked, if the name has packing), converted to T; `to` has the box's
/// extent and as many dimensions as the dataset.
template <class T>
void read_grid(const DatasetName& name, const Box3& box, const GridView<T>& to);

/// Sets `to` to 1 at points of the dataset's box that have no value by the packing of its name,
/// otherwise to 0.
void read_missing_grid(const DatasetName& name, const Box3& box, const GridView<std::uint8_t>& to);

/// A consumer of slabs of a dataset: one range per dimension, and the contiguous elements.
using PutSlab = std::function<void(std::span<const layout::Range>, std::span<const std::byte>)>;
/// Passes the box to put() in parts that fit the staging memory, with one range per dimension of
/// the view.
template <class T>
void write_grid(const Box3& box, const GridView<const T>& from, const PutSlab& put);

/// The maximal memory of either call, in bytes, in addition to its arguments.
inline constexpr index_t grid_staging_bytes = index_t{16} << 20;

}  // namespace tessera::inline v1::io
