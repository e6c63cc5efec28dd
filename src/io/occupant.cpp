#include "io/occupant.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "io/dataset.hpp"
#include "io/output_dataset.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

/// The contents of an output of Tessera, and whether there is anything else.
struct Contents {
  std::set<std::string> written;       // datasets that the run names; empty in earlier versions
  std::vector<std::string> groups;     // without a trailing slash
  std::set<std::string> with_content;  // groups that contain objects of Tessera
  bool others = false;
};

bool is_below(std::string_view path, std::string_view group) {
  return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

/// Returns whether a run wrote the dataset: as its output, a scale of it, or part of its image.
bool is_of_run(hid_t dataset, const std::string& path, const Contents& contents) {
  const bool summed = has_attribute(dataset, schema::checksum);
  if (is_below(path, "/VTKHDF/Steps")) return true;
  if (is_below(path, "/VTKHDF/PointData")) return summed;
  if (summed) return contents.written.empty() || contents.written.contains(path);
  return is_own_scale(dataset, path);
}

herr_t look_at(hid_t file, const char* name, const H5L_info_t* info, void* data) {
  Contents& contents = *static_cast<Contents*>(data);
  const std::string path = std::string("/") + name;
  if (is_below(path, std::string("/") + schema::group)) return 0;
  contents.others = contents.others || info->type != H5L_TYPE_HARD;
  if (contents.others) return 0;
  const Handle object(H5Oopen(file, name, H5P_DEFAULT), H5Oclose);
  const H5I_type_t type = object >= 0 ? H5Iget_type(object) : H5I_BADID;
  if (type == H5I_GROUP) {
    contents.groups.push_back(path);
  } else if (type == H5I_DATASET && is_of_run(object, path, contents)) {
    for (std::size_t slash = path.rfind('/'); slash > 0; slash = path.rfind('/', slash - 1))
      contents.with_content.insert(path.substr(0, slash));
  } else {
    contents.others = true;
  }
  return 0;
}

/// Returns whether a file with Tessera's group has foreign content.
bool holds_others(hid_t file, const std::string& name) {
  const Handle group(h5_check(H5Gopen2(file, schema::group, H5P_DEFAULT), name), H5Gclose);
  if (has_attribute(group, schema::guest)) return true;
  Contents contents;
  for (const char* list : {schema::datasets, schema::company}) {
    if (!has_attribute(group, list)) continue;
    for (const std::string& path : split(read_text_attribute(group, list), '\n'))
      contents.written.insert(path);
  }
  h5_check_rc(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_at, &contents),
              ExitCode::cannot_create, fmt::format("objects of '{}' cannot be listed", name));
  return contents.others ||
         !std::all_of(contents.groups.begin(), contents.groups.end(), [&](const auto& one) {
           return is_below(one, "/VTKHDF") || contents.with_content.contains(one);
         });
}

}  // namespace

Occupant occupant_of(const std::string& file) {
  const QuietErrors quiet;
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return Occupant::nothing;
  if (status.st_size == 0) return Occupant::ours;
  require(H5Fis_hdf5(file.c_str()) != 0, ExitCode::cannot_create,
          fmt::format(
              "output '{}' exists and is not an HDF5 file: it is never replaced; name another file",
              file));
  try {
    const Handle in = open_file(file);
    require(!has_attribute(in, schema::schema_version), ExitCode::cannot_create,
            fmt::format("'{}' is a results file of Tessera, to which datasets cannot be added; "
                        "name another file",
                        file));
    if (H5Lexists(in, schema::group, H5P_DEFAULT) <= 0) return Occupant::others;
    return holds_others(in, file) ? Occupant::others : Occupant::ours;
  } catch (const Error& error) {
    if (error.code() == ExitCode::io || error.code() == ExitCode::cannot_create) throw;
    throw Error(
        ExitCode::cannot_create,
        fmt::format(
            "output '{}' exists and cannot be read ({}): it is not replaced; name another file",
            file, error.what()));
  }
}

}  // namespace tessera::inline v1::io
