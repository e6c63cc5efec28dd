#pragma once
// What else it takes to read a dataset: filters of its chunks, files of which a virtual one is made.

#include "io/dataset.hpp"

namespace tessera::io {

/// Throws Error(bad_data) where the dataset, or a source of a virtual one, is stored through a filter that
/// the library does not have, and Error(missing_input) where a source is not there and nobody said which
/// value stands in. creation: the dataset's list of properties.
void require_readable(hid_t creation, const DatasetName& name);

}  // namespace tessera::io
