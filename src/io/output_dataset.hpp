#pragma once
// Datasets of an output, as they are made.

#include <span>

#include "io/output_file.hpp"

namespace tessera::io {

/// Throws Error(usage) where a dataset would lie where a name of ours does, or another one of the file, or
/// below one.
void require_free_paths(const std::string& file, std::span<const DatasetSpec> specs);

/// Makes a contiguous dataset with its scales and attributes, its space reserved. Returns its first byte in
/// the file; -1 when it has no element. Throws Error(cannot_create).
[[nodiscard]] index_t create_dataset(hid_t file, const DatasetSpec& spec);

}  // namespace tessera::io
