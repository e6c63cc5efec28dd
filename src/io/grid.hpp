#pragma once
// Boxes of fields between memory, where rows are padded, and datasets, where they are not.

#include "base/grid_view.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"

namespace tessera::io {

/// to = the dataset's box, converted to T; `to` has the box's extent and as many dimensions as the dataset.
template <class T>
void read_grid(const DatasetName& name, const Box3& box, const GridView<T>& to);

/// Writes the box of a field of extent `global`, the dataset's frame-th (0 where it holds one). Local; every
/// element must be written once by somebody.
template <class T>
void write_grid(OutputFile& out, std::size_t dataset, index_t frame, Index3 global, const Box3& box,
                const GridView<const T>& from);

/// Bytes that either call takes beside its arguments, at most.
inline constexpr index_t grid_staging_bytes = index_t{16} << 20;

}  // namespace tessera::io
