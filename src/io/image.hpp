#pragma once
// Descriptions of fields for visualisation programs: VTKHDF in the file, XDMF in a separate one.

#include <span>
#include <string>
#include <vector>

#include "io/output_file.hpp"

namespace tessera::io {

/// Returns the last parts of the paths, made unique by numbers.
[[nodiscard]] std::vector<std::string> field_names(const std::vector<std::string>& paths);
[[nodiscard]] std::vector<std::string> field_names(std::span<const DatasetSpec> specs);

/// Returns whether VTK reads the field as an image of two or three dimensions. Its reader (9.7)
/// ignores dimensions of extent 1 when it counts them and then takes the dataset's last one for
/// components, so that only that one may be 1. False for fields of one dimension and other
/// datasets.
[[nodiscard]] bool is_vtk_image(const DatasetSpec& spec);

/// Creates the group /VTKHDF, in which the dataset, as a hard link, is the point data of an image
/// of two or three dimensions; version 1.0, or 2.0 for a series in time (VTK 9.1 supports only
/// 1.0). If the group exists, adds a field of equal extents and times to its image. No effect
/// unless is_vtk_image().
void link_image(hid_t file, const DatasetSpec& spec, const std::string& name);

/// Returns an XDMF description of datasets of `file` with equal extents and times, step by step for
/// a series in time. It refers to the file by its name in the same directory.
[[nodiscard]] std::string xdmf_text(const std::string& file, std::span<const DatasetSpec> specs);
/// Returns whether XDMF readers find the dataset: they split its name at the first colon and
/// support ASCII only.
[[nodiscard]] bool is_xdmf_name(const std::string& file, const std::string& path);
/// Returns the name of the description: `file` with the extension .xdmf.
[[nodiscard]] std::string xdmf_name(const std::string& file);
/// Writes the description atomically; returns its name, or "" without writing if a foreign file has
/// it.
std::string write_xdmf(const std::string& file, std::span<const DatasetSpec> specs);

}  // namespace tessera::io
