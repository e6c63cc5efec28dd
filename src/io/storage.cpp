#include "io/storage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "io/home_file.hpp"
#include "io/raw_file.hpp"

namespace tessera::inline v1::io {
namespace {

namespace fs = std::filesystem;

/// Returns how to obtain a filter. (h5repack without its plugin silently drops the dataset.)
std::string advice_for(H5Z_filter_t filter) {
  constexpr H5Z_filter_t lzf = 32000, szip = 4;
  if (filter == lzf)
    return "copy the dataset with h5py, which defines the filter, to one without it or with "
           "compression='gzip'";
  if (filter == szip) return "use a library built with it, or write the data again without it";
  return "set HDF5_PLUGIN_PATH to the folder of its plugin (blosc, zstd, bitshuffle and others: "
         "'pip install hdf5plugin'): export HDF5_PLUGIN_PATH=$(python3 -c 'import hdf5plugin; "
         "print(hdf5plugin.PLUGIN_PATH)')";
}

/// Throws Error(bad_data) naming a missing filter; the library would only report that it found no
/// plugin.
void require_known_filters(hid_t creation, const std::string& name) {
  for (int f = 0; f < H5Pget_nfilters(creation); ++f) {
    std::array<char, 64> called{};
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(f), &flags, &values,
                                           nullptr, called.size() - 1, called.data(), nullptr);
    require(H5Zfilter_avail(id) > 0, ExitCode::bad_data,
            fmt::format(
                "{} uses the filter '{}' (number {}), which this HDF5 library does not have; {}",
                name, called.data(), id, advice_for(id)));
  }
}

/// Returns the path at which the library opens a raw file of a dataset in file `of`: in the
/// directory HDF5_EXTFILE_PREFIX, otherwise relative to the working directory.
std::string place_of_raw(const std::string& raw, const std::string& of) {
  const char* const variable = std::getenv("HDF5_EXTFILE_PREFIX");
  std::string prefix = variable == nullptr ? "" : variable;
  const std::string origin = "${ORIGIN}";
  if (prefix.starts_with(origin)) prefix = directory_of(of) + prefix.substr(origin.size());
  return prefix == "." ? raw : (fs::path(prefix) / raw).string();
}

void require_raw_files(hid_t dataset, hid_t creation, const DatasetName& name) {
  const int count = H5Pget_external_count(creation);
  if (count <= 0) return;
  const Handle space(h5_check(H5Dget_space(dataset), name.text()), H5Sclose);
  const Handle type(h5_check(H5Dget_type(dataset), name.text()), H5Tclose);
  hsize_t left = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type);
  for (int i = 0; i < count && left > 0; ++i) {
    std::array<char, 4096> raw{};
    off_t offset = 0;
    hsize_t bytes = 0;
    h5_check_rc(H5Pget_external(creation, static_cast<unsigned>(i), raw.size() - 1, raw.data(),
                                &offset, &bytes),
                name.text());
    const std::string place = place_of_raw(raw.data(), home_of(dataset));
    const hsize_t wanted = std::min(left, bytes);  // H5F_UNLIMITED is the largest value
    std::error_code error;
    const auto size = fs::file_size(place, error);
    require(!error, ExitCode::missing_input,
            fmt::format("{} stores its data in the external file '{}', which cannot be read ({}); "
                        "restore it, or set HDF5_EXTFILE_PREFIX to its folder",
                        name.text(), place, error.message()));
    const hsize_t end = static_cast<hsize_t>(offset) + wanted;
    require(size >= end, ExitCode::bad_data,
            fmt::format("{} stores its data in the external file '{}', which has {} of {} bytes: "
                        "the library would read zeros for the rest; restore the whole file",
                        name.text(), place, size, end));
    left -= wanted;
  }
}

}  // namespace

void require_readable(hid_t dataset, hid_t creation, const DatasetName& name, int depth) {
  require_known_filters(creation, name.text());
  require_raw_files(dataset, creation, name);
  if (H5Pget_layout(creation) == H5D_VIRTUAL) require_sources(dataset, creation, name, depth);
}

}  // namespace tessera::inline v1::io
