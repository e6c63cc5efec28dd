#include "io/storage.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "io/raw_file.hpp"

namespace tessera::io {
namespace {

/// What compressed the chunks, or the library says no more than that it found no plugin.
void require_known_filters(hid_t creation, const std::string& what) {
  for (int f = 0; f < H5Pget_nfilters(creation); ++f) {
    std::array<char, 64> called{};
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(f), &flags, &values, nullptr,
                                           called.size() - 1, called.data(), nullptr);
    require(H5Zfilter_avail(id) > 0, ExitCode::bad_data,
            fmt::format("{} is stored through the filter '{}' (number {}), which this HDF5 library does not "
                        "have; write it again without (h5repack -f NONE), or name its plugin's folder in "
                        "HDF5_PLUGIN_PATH",
                        what, called.data(), id));
  }
}

using GetName = ssize_t (*)(hid_t, std::size_t, char*, std::size_t);

/// The name of a source's file or dataset.
std::string name_of_source(GetName get, hid_t creation, std::size_t source) {
  const ssize_t length = get(creation, source, nullptr, 0);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (!text.empty()) get(creation, source, text.data(), text.size() + 1);
  return text;
}

/// Where the library looks for a source's file: in the folders of HDF5_VDS_PREFIX, that of the virtual
/// dataset's file, and here; there also for the last part of the name alone.
std::optional<std::string> place_of(const std::string& source, const std::string& of) {
  namespace fs = std::filesystem;
  const char* const prefix = std::getenv("HDF5_VDS_PREFIX");
  std::vector<std::string> folders = split(prefix == nullptr ? "" : prefix, ':');
  folders.insert(folders.end(), {directory_of(of), directory_of(behind_links(of)), ""});
  for (const fs::path& name : {fs::path(source), fs::path(source).filename()}) {
    for (const std::string& folder : folders) {
      const std::string place = fs::path(folder) / name;  // of an absolute name that name
      if (file_exists(place)) return place;
    }
  }
  return {};
}

bool has_fill_value(hid_t creation) {
  H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
  return H5Pfill_value_defined(creation, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED;
}

/// Whether a source, as "file:/path", is there. Throws where it is stored through an unknown filter.
bool is_there(const std::string& file, const std::string& path, const std::string& source,
              const DatasetName& of) {
  const Handle in(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (in < 0) return false;
  const Handle dataset(H5Dopen2(in, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (dataset < 0) return false;
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  require_known_filters(creation, fmt::format("{}, of which {} is made,", source, of.text()));
  return true;
}

void require_sources(hid_t creation, const DatasetName& name) {
  std::size_t count = 0;
  if (H5Pget_virtual_count(creation, &count) < 0) return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string file = name_of_source(H5Pget_virtual_filename, creation, i);
    const std::string path = name_of_source(H5Pget_virtual_dsetname, creation, i);
    const std::string source = fmt::format("{}:{}{}", file, path.starts_with('/') ? "" : "/", path);
    const bool is_pattern = source.find('%') != std::string::npos;  // as many as there are
    if (is_pattern || !seen.insert(source).second) continue;
    const auto place = file == "." ? name.file : place_of(file, name.file);
    require((place && is_there(*place, path, source, name)) || has_fill_value(creation),
            ExitCode::missing_input,
            fmt::format("{} is virtual and its source {} cannot be read, of which the library would make "
                        "zeros; bring it back, or give the dataset a fill value",
                        name.text(), source));
  }
}

}  // namespace

void require_readable(hid_t creation, const DatasetName& name) {
  require_known_filters(creation, name.text());
  if (H5Pget_layout(creation) == H5D_VIRTUAL) require_sources(creation, name);
}

}  // namespace tessera::io
