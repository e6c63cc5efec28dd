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

/// Whether VTK finds the field as an image of two or three dimensions. Its reader leaves dimensions
/// of 1 out when it counts them and takes the last one of the dataset for components then (9.7), so
/// that only that one may be 1. False for fields of one dimension and other datasets.
[[nodiscard]] bool is_vtk_image(const DatasetSpec& spec);

/// Makes the group /VTKHDF in which the dataset, a hard link, is the point data of an image of two
/// or three dimensions; version 1.0, or 2.0 for a series in time (VTK 9.1 knows the first only).
/// When the group is there, one more field of that image, of the same extents and times. Nothing
/// for what is no is_vtk_image().
void link_image(hid_t file, const DatasetSpec& spec, const std::string& name);

/// An XDMF description of datasets of `file` with equal extents and times, step by step for a
/// series in time. The text names the file relative to its own place, the same folder.
[[nodiscard]] std::string xdmf_text(const std::string& file, std::span<const DatasetSpec> specs);
/// Whether readers of XDMF find the dataset: they split its name at the first colon and keep ASCII
/// alone.
[[nodiscard]] bool is_xdmf_name(const std::string& file, const std::string& path);
/// The name of the description: `file` with .xdmf for its ending.
[[nodiscard]] std::string xdmf_name(const std::string& file);
/// Writes it, whole or not at all; returns its name, or nothing where a file of others has it,
/// which stays.
std::string write_xdmf(const std::string& file, std::span<const DatasetSpec> specs);

}  // namespace tessera::io
