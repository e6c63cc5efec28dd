#pragma once
// Prerequisites of reading a dataset: filters of its chunks, raw files (external storage), and the
// sources of a virtual one.

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

/// Throws if the library would return zeros, or fail without a reason, for something that it lacks:
/// Error(bad_data) for filters, and for raw files that are too short; Error(missing_input) for
/// missing raw files and sources of virtual datasets. `depth` counts virtual datasets over virtual
/// ones. creation: the dataset's creation property list.
void require_readable(hid_t dataset, hid_t creation, const DatasetName& name, int depth = 0);

/// Throws Error(missing_input) unless every mapping of a virtual dataset can be read completely
/// from its source, and unmapped parts have a user-defined fill value.
void require_sources(hid_t dataset, hid_t creation, const DatasetName& name, int depth);

}  // namespace tessera::inline v1::io
