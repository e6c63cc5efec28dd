#pragma once
// Dimension scales, and the coordinate variables that attributes name, of an input: copied to an
// output along the dimensions that it keeps, as netCDF's tools and xarray keep them.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/output_dataset.hpp"

namespace tessera::inline v1::io {

/// Returns, for each dimension of the dataset, whether its input has dimension scales for it.
[[nodiscard]] std::vector<bool> dimensions_with_scales(const DatasetSpec& spec);

/// Returns, for each dimension of the dataset, the paths of its dimension scales; a scale is one of
/// its own first dimension.
[[nodiscard]] std::vector<std::vector<std::string>> scales_by_dimension(hid_t dataset);

/// Returns the paths of the coordinate variables of a dataset's rows: scales, and variables that
/// its attribute `coordinates` names.
[[nodiscard]] std::vector<std::string> row_coordinates(hid_t file, hid_t dataset);

/// Reads the coordinates of a dataset that copy_coordinates() would copy with scales and CF
/// attributes, and the attributes of its group. Calls `step` with the bytes of each before it is
/// read. Throws Error(bad_data).
void read_coordinates(hid_t file, hid_t dataset, const std::function<void(index_t)>& step);

/// Returns the names of a dataset's dimensions that its selection keeps: those of scales, labels,
/// or axes of a NeXus group; empty where there is none. Throws Error(bad_data, missing_input).
/// Serial.
[[nodiscard]] std::vector<std::string> dimension_names(const DatasetName& name);

/// Copies the coordinates of specs[which] to a file that has the datasets of all specs: dimension
/// scales with their labels and bounds; variables named by the CF attributes `coordinates`,
/// `grid_mapping` and `ancillary_variables`; and the axes of a NeXus group. They are selected and
/// transposed as the dataset is; those of reordered rows are attached only if they are among the
/// specs. Existing datasets with the same content are reused; otherwise a name gets a number.
/// Appends the paths of new datasets to `created`. Throws Error(bad_data, cannot_create). Serial.
void copy_coordinates(hid_t file, std::span<const DatasetSpec> specs, std::size_t which,
                      const DatasetPlace& place, std::vector<std::string>& created);

}  // namespace tessera::inline v1::io
