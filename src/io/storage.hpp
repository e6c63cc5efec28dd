#pragma once
// What else it takes to read a dataset: filters of its chunks, raw files beside its own, files of
// which a virtual one is made.

#include "io/dataset.hpp"

namespace tessera::io {

/// Throws where the library would give zeros or no reason for what it does not have:
/// Error(bad_data) for a filter and for raw files (external storage) that are too short,
/// Error(missing_input) for raw files and sources of virtual datasets that are not there. `depth`
/// counts virtual datasets over virtual ones. creation: the list that the dataset was created with.
void require_readable(hid_t dataset, hid_t creation, const DatasetName& name, int depth = 0);

/// Checks that the chunks of a dataset without filters have the bytes of a chunk each: HDF5 1.10
/// takes their lengths from the file and reads past a shorter buffer. Visits the index of the
/// chunks twice. Does nothing for other layouts. Throws Error(bad_data).
void require_whole_chunks(hid_t dataset, hid_t creation, const DatasetName& name);

/// Throws Error(missing_input) unless every mapping of a virtual dataset can be read whole from its
/// source, and what is mapped to none has a fill value that somebody chose.
void require_sources(hid_t dataset, hid_t creation, const DatasetName& name, int depth);

}  // namespace tessera::io
