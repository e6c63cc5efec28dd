#pragma once
// Fields as pictures programs want them: VTKHDF inside the file, XDMF beside it.

#include <span>
#include <string>
#include <vector>

#include "io/output_file.hpp"

namespace tessera::io {

/// The last names of the paths, numbered where two are the same.
[[nodiscard]] std::vector<std::string> field_names(const std::vector<std::string>& paths);
[[nodiscard]] std::vector<std::string> field_names(std::span<const DatasetSpec> specs);

/// Makes the group /VTKHDF in which the dataset, a hard link, is the point data of an image of two or three
/// dimensions; version 1.0, or 2.0 for a series in time (VTK 9.1 knows the first only). When the group is
/// there, one more field of that image, of the same extents and times. Nothing for other datasets.
void link_image(hid_t file, const DatasetSpec& spec, const std::string& name);

/// An XDMF description of datasets of `file` with equal extents and times, step by step for a series in time.
/// The text names the file relative to its own place, the same folder.
[[nodiscard]] std::string xdmf_text(const std::string& file, std::span<const DatasetSpec> specs);
/// Writes it as `file` with .xdmf for its ending, whole or not at all; returns that name,
/// or nothing where a file of others has it, which stays.
std::string write_xdmf(const std::string& file, std::span<const DatasetSpec> specs);

}  // namespace tessera::io
