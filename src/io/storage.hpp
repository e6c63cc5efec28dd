#pragma once
// Prerequisites of reading a dataset: filters of its chunks, raw files (external storage), and the
// sources of a virtual one.

#include "io/dataset.hpp"

namespace tessera::io {

/// Throws if the library would return zeros, or fail without a reason, for something that it lacks:
/// Error(bad_data) for filters, and for raw files that are too short; Error(missing_input) for
/// missing raw files and sources of virtual datasets. `depth` counts virtual datasets over virtual
/// ones. creation: the dataset's creation property list.
void require_readable(hid_t dataset, hid_t creation, const DatasetName& name, int depth = 0);

/// Throws Error(bad_data) unless the stored bytes fit the chunks: those of a chunk each without
/// filters, and at least 1/1032 of that through deflate (its largest ratio). HDF5 1.10 takes
/// lengths and extents from the file and reads past a shorter buffer. Visits the chunk index twice.
/// No effect for other layouts and filters.
void require_whole_chunks(hid_t dataset, hid_t creation, const DatasetName& name);

/// Throws Error(missing_input) unless every mapping of a virtual dataset can be read completely
/// from its source, and unmapped parts have a user-defined fill value.
void require_sources(hid_t dataset, hid_t creation, const DatasetName& name, int depth);

}  // namespace tessera::io
