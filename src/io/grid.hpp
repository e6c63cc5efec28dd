#pragma once
// Boxes of fields between memory, where rows are padded, and datasets, where they are not.

#include <cstdint>
#include <functional>

#include "base/grid_view.hpp"
#include "io/dataset.hpp"

namespace tessera::io {

/// to = the dataset's box (the values, where the name has packing), converted to T; `to` has the
/// box's extent and as many dimensions as the dataset.
template <class T>
void read_grid(const DatasetName& name, const Box3& box, const GridView<T>& to);

/// to = 1 where the dataset's box has no value, by the packing of its name, else 0.
void read_missing_grid(const DatasetName& name, const Box3& box, const GridView<std::uint8_t>& to);

/// What takes a slab of a dataset, a range a dimension, and its contiguous elements.
using PutSlab = std::function<void(std::span<const layout::Range>, std::span<const std::byte>)>;
/// Gives put() the box in parts that fit the staging memory, with as many ranges as the view has
/// dimensions.
template <class T>
void write_grid(const Box3& box, const GridView<const T>& from, const PutSlab& put);

/// Bytes that either call takes beside its arguments, at most.
inline constexpr index_t grid_staging_bytes = index_t{16} << 20;

}  // namespace tessera::io
