#include "io/contents.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "io/type_name.hpp"

namespace tessera::inline v1::io {
namespace {

using Json = nlohmann::ordered_json;

/// Attributes that change the meaning of numbers, in the order in which they are shown.
constexpr std::array shown_attributes{"units",      "scale_factor",  "add_offset",
                                      "_FillValue", "missing_value", "valid_range",
                                      "valid_min",  "valid_max",     "_Unsigned"};

const char* name_of(DatasetInfo::Kind kind) {
  switch (kind) {
    case DatasetInfo::Kind::real:
      return "real";
    case DatasetInfo::Kind::integer:
      return "integer";
    case DatasetInfo::Kind::complex:
      return "complex";
    case DatasetInfo::Kind::boolean:
      return "boolean";
    case DatasetInfo::Kind::other:
      return "other";
  }
  return "other";
}

const char* name_of(H5D_layout_t layout) {
  switch (layout) {
    case H5D_COMPACT:
      return "compact";
    case H5D_CONTIGUOUS:
      return "contiguous";
    case H5D_CHUNKED:
      return "chunked";
    case H5D_VIRTUAL:
      return "virtual";
    case H5D_LAYOUT_ERROR:
    case H5D_NLAYOUTS:
      break;
  }
  return "unknown";
}

/// Returns "gzip 4", "shuffle", ... in the order in which the filters are applied.
std::vector<std::string> filters_of(hid_t creation) {
  std::vector<std::string> names;
  for (int f = 0; f < H5Pget_nfilters(creation); ++f) {
    std::array<char, 64> called{};
    std::array<unsigned, 1> values{};
    std::size_t count = values.size();
    unsigned flags = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(creation, static_cast<unsigned>(f), &flags, &count, values.data(),
                       called.size() - 1, called.data(), nullptr);
    const std::string word = std::string(called.data()).substr(0, std::strcspn(called.data(), ";"));
    names.push_back(id == H5Z_FILTER_DEFLATE   ? fmt::format("gzip {}", values[0])
                    : id == H5Z_FILTER_SHUFFLE ? "shuffle"
                    : word.empty()             ? fmt::format("filter {}", id)
                                               : word);
  }
  return names;
}

std::vector<std::string> external_of(hid_t creation) {
  std::vector<std::string> files;
  for (int i = 0; i < H5Pget_external_count(creation); ++i) {
    std::array<char, 4096> raw{};
    off_t offset = 0;
    hsize_t bytes = 0;
    if (H5Pget_external(creation, static_cast<unsigned>(i), raw.size() - 1, raw.data(), &offset,
                        &bytes) >= 0)
      files.emplace_back(raw.data());
  }
  return files;
}

/// Returns an attribute of one text or of at most four numbers; null for others.
Json attribute_of(hid_t dataset, const char* name) {
  constexpr hssize_t most = 4;
  const Handle id(H5Aopen(dataset, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING && count == 1) {
    if (H5Tis_variable_str(type) > 0) return read_text_attribute(dataset, name);
    std::string text(H5Tget_size(type) + 1, '\0');
    const Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(memory, text.size());
    return H5Aread(id, memory, text.data()) < 0 ? Json() : Json(text.c_str());
  }
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || count < 1 || count > most) return nullptr;
  std::array<double, most> numbers{};
  if (H5Aread(id, H5T_NATIVE_DOUBLE, numbers.data()) < 0) return nullptr;
  if (count == 1) return numbers[0];
  return std::vector<double>(numbers.begin(), numbers.begin() + count);
}

herr_t add_scale_path(hid_t, unsigned, hid_t scale, void* names) {
  std::array<char, 4096> path{};
  if (H5Iget_name(scale, path.data(), path.size()) > 0)
    static_cast<std::vector<std::string>*>(names)->emplace_back(path.data());
  return 0;
}

/// Returns the paths of the dimension scales of each dimension; empty if there is none.
Json scale_paths(hid_t dataset, std::size_t dimensions) {
  Json all = Json::array();
  bool any = false;
  for (unsigned d = 0; d < dimensions; ++d) {
    std::vector<std::string> names;
    H5DSiterate_scales(dataset, d, nullptr, add_scale_path, &names);
    any = any || !names.empty();
    all.push_back(names);
  }
  return any ? all : Json::array();
}

/// Describes a dataset that the library can open.
void describe(hid_t dataset, const DatasetName& name, const LookAtDataset& look, Json& one) {
  const DatasetInfo info = inspect(dataset, name);
  const Handle creation(h5_check(H5Dget_create_plist(dataset), name.text()), H5Pclose);
  one["shape"] = info.shape;
  one["type"] = info.type_text();
  one["kind"] = name_of(info.kind);
  one["element_bytes"] = info.element_bytes;
  one["self_contained"] = info.self_contained;
  one["layout"] = name_of(H5Pget_layout(creation));
  one["chunk"] = info.chunk;
  one["filters"] = filters_of(creation);
  one["external"] = external_of(creation);
  one["stored_bytes"] = H5Dget_storage_size(dataset);
  for (const char* attribute : shown_attributes)
    if (has_attribute(dataset, attribute))
      one["attributes"][attribute] = attribute_of(dataset, attribute);
  one["scales"] = scale_paths(dataset, info.shape.size());
  look(dataset, info, name);
}

/// What a walk over a file finds.
struct Walk {
  std::string file;
  const LookAtDataset& look;
  Json datasets = Json::array(), links = Json::array();

  void add_dataset(hid_t group, const char* relative, const std::string& path) {
    Json one = {{"path", path},
                {"shape", Json::array()},
                {"type", "unknown"},
                {"kind", "other"},
                {"element_bytes", 0},
                {"self_contained", false},
                {"layout", "unknown"},
                {"chunk", Json::array()},
                {"filters", Json::array()},
                {"external", Json::array()},
                {"stored_bytes", 0},
                {"attributes", Json::object()},
                {"scales", Json::array()},
                {"problem", nullptr}};
    try {
      const DatasetName name{file, path};
      const Handle dataset(h5_check(H5Dopen2(group, relative, H5P_DEFAULT), name.text()), H5Dclose);
      describe(dataset, name, look, one);
    } catch (const Error& error) {
      one["problem"] = error.what();
    }
    datasets.push_back(std::move(one));
  }
};

/// The group of a walk, with its path ("" for the root).
struct WalkFrom {
  Walk& walk;
  std::string prefix;
};

herr_t visit_object(hid_t group, const char* relative, const H5O_info_t* info, void* data) {
  const auto& from = *static_cast<WalkFrom*>(data);
  try {
    if (info->type == H5O_TYPE_DATASET)
      from.walk.add_dataset(group, relative, from.prefix + "/" + relative);
    return 0;
  } catch (const std::exception&) {
    return -1;  // no exception may pass through the library
  }
}

herr_t visit_link(hid_t group, const char* relative, const H5L_info_t* info, void* data) {
  const auto& from = *static_cast<WalkFrom*>(data);
  if (info->type != H5L_TYPE_SOFT && info->type != H5L_TYPE_EXTERNAL) return 0;
  try {
    std::vector<char> value(info->u.val_size + 1);
    if (H5Lget_val(group, relative, value.data(), value.size(), H5P_DEFAULT) < 0) return 0;
    std::string to = value.data();
    if (info->type == H5L_TYPE_EXTERNAL) {
      const char *file = nullptr, *path = nullptr;
      unsigned flags = 0;
      if (H5Lunpack_elink_val(value.data(), info->u.val_size, &flags, &file, &path) < 0) return 0;
      to = fmt::format("{}:{}", file, path);
    }
    from.walk.links.push_back({{"path", from.prefix + "/" + relative}, {"to", to}});
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

}  // namespace

std::string contents_of(const DatasetName& name, const LookAtDataset& look) {
  const Handle file = open_file(name.file);
  Walk walk{name.file, look};
  const Handle object(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose);
  require(object >= 0, ExitCode::missing_input,
          fmt::format("{} does not exist; run tessera info {}", name.text(), name.file));
  if (H5Iget_type(object) == H5I_DATASET) {
    walk.add_dataset(file, name.path.c_str(), name.path);
  } else {
    WalkFrom from{walk, name.path == "/" ? "" : name.path};
    h5_check_rc(H5Ovisit2(object, H5_INDEX_NAME, H5_ITER_INC, visit_object, &from, H5O_INFO_BASIC),
                ExitCode::bad_data, "'" + name.file + "' is damaged: its objects cannot be listed");
    h5_check_rc(H5Lvisit(object, H5_INDEX_NAME, H5_ITER_INC, visit_link, &from), ExitCode::bad_data,
                "'" + name.file + "' is damaged: its links cannot be listed");
  }
  return Json{{"datasets", walk.datasets}, {"links", walk.links}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

index_t stored_bytes(const DatasetName& name) {
  const Handle file = open_file(name.file);
  return static_cast<index_t>(H5Dget_storage_size(open_dataset(file, name)));
}

}  // namespace tessera::inline v1::io
