#pragma once
// Files in the forms of other tools, which must be converted to HDF5.

#include <string>

namespace tessera::inline v1::io {

/// Returns what a file or folder is: "a netCDF-3 file", "a zarr store", "a text file"; empty if
/// unknown.
[[nodiscard]] std::string form_of(const std::string& file);

/// Returns how to make an HDF5 file of it: the command that converts that form.
[[nodiscard]] std::string advice_on(const std::string& file, const std::string& form);

}  // namespace tessera::inline v1::io
