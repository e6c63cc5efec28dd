#pragma once
// Checks of the chunks of datasets. HDF5 1.10 takes lengths, extents and filter masks of chunks
// from the file, and reads past a buffer that decodes to less than a chunk.

#include <span>

#include "io/dataset.hpp"

namespace tessera::io {

/// Throws Error(bad_data) unless the dataset's chunks have the bytes that their extents require:
/// all of them together where no filter changes the length (shuffle and Fletcher32 are known), and
/// the first one, which is decoded, where the filters are these and one deflate. Visits the chunk
/// index twice. No effect for other layouts and filters.
void require_whole_chunks(hid_t dataset, hid_t creation, const DatasetName& name);

/// Throws Error(bad_data) if a chunk of the box is not deflated by its filter mask, but shorter
/// than its extents require. Reads the stored bytes of the box's compressed chunks (11 MB of gzip:
/// 3 ms, where decoding them takes 360). No effect for datasets without deflate.
void require_honest_masks(hid_t dataset, const std::string& name,
                          std::span<const layout::Range> box);

}  // namespace tessera::io
