#pragma once
// Lists what an HDF5 file contains: its datasets with shapes, types and storage, and its links.

#include <functional>
#include <string>

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

/// Called with every dataset that is described; throws Error if it cannot be read.
using LookAtDataset =
    std::function<void(hid_t dataset, const DatasetInfo& info, const DatasetName& name)>;

/// Returns a JSON object: "datasets", in the order of their paths, and "links" (soft and external
/// ones, which are not followed). A dataset has path, shape, type, kind, element_bytes,
/// self_contained, layout, chunk, filters, external, stored_bytes, attributes (of packed and
/// missing values, and units), scales (per dimension) and problem, null if it can be read. `name`
/// is a file with a group or a dataset of it. Throws Error(missing_input, bad_data).
[[nodiscard]] std::string contents_of(const DatasetName& name, const LookAtDataset& look);

/// Returns the bytes that a dataset takes in its file. Throws Error(missing_input, bad_data).
[[nodiscard]] index_t stored_bytes(const DatasetName& name);

}  // namespace tessera::inline v1::io
