#pragma once
// Descriptions of fields for visualisation programs: VTKHDF in the file, XDMF in a separate one.

#include <span>
#include <string>
#include <vector>

#include "io/output_file.hpp"

namespace tessera::inline v1::io {

/// Returns the last parts of the paths, made unique by numbers.
[[nodiscard]] std::vector<std::string> field_names(const std::vector<std::string>& paths);
[[nodiscard]] std::vector<std::string> field_names(std::span<const DatasetSpec> specs);

/// Returns whether VTK reads the field as an image of two or three dimensions. Its reader (9.7)
/// ignores dimensions of extent 1 when it counts them and then takes the dataset's last one for
/// components, so that only that one may be 1. False for fields of one dimension and other
/// datasets.
[[nodiscard]] bool is_vtk_image(const DatasetSpec& spec);

/// Returns the geometry of the fields: that of the first which has one, because the fields of a run
/// share their points.
[[nodiscard]] Geometry common_geometry(std::span<const DatasetSpec> specs);

/// Creates the group /VTKHDF, in which the datasets for which is_vtk_image() holds, as hard links,
/// are point data of one image with common_geometry(): version 1.0, or 2.0 for a series in time
/// (VTK 9.1 supports only 1.0). Of a series and single fields, only those like the first belong to
/// the image.
void link_images(hid_t file, std::span<const DatasetSpec> specs);

/// Returns an XDMF description of datasets of `file` with equal extents and times, step by step for
/// a series in time. It refers to the file by its name in the same directory, and has origin and
/// spacing of common_geometry(): the format does not support a direction.
[[nodiscard]] std::string xdmf_text(const std::string& file, std::span<const DatasetSpec> specs);
/// Returns whether XDMF readers find the dataset: they split its name at the first colon and
/// support ASCII only.
[[nodiscard]] bool is_xdmf_name(const std::string& file, const std::string& path);
/// Returns the name of the description: `file` with the extension .xdmf.
[[nodiscard]] std::string xdmf_name(const std::string& file);
/// Writes the description atomically; returns its name, or "" without writing if a foreign file has
/// it.
std::string write_xdmf(const std::string& file, std::span<const DatasetSpec> specs);

}  // namespace tessera::inline v1::io
