#include "io/output_dataset.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "io/attributes.hpp"
#include "io/coordinates.hpp"
#include "io/dataset.hpp"
#include "io/packed.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

Handle make_space(const std::vector<index_t>& shape) {
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {h5_check(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                   not_created, "dataspace of the output cannot be created"),
          H5Sclose};
}

/// Returns the values of the scale of a dimension.
std::vector<index_t> scale_values(const DatasetSpec& spec, std::size_t d) {
  if (d == 0 && !spec.time.empty()) return spec.time;
  std::vector<index_t> values(static_cast<std::size_t>(spec.shape[d]));
  std::iota(values.begin(), values.end(), index_t{0});
  return values;
}

/// Returns the values of a scale of Tessera's form; none for other datasets.
std::optional<std::vector<index_t>> own_scale(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose), type(H5Dget_type(dataset), H5Tclose);
  if (H5DSis_scale(dataset) <= 0 || H5Sget_simple_extent_ndims(space) != 1 ||
      H5Tequal(type, H5T_NATIVE_INT64) <= 0)
    return std::nullopt;
  H5O_info_t info{};
  const hsize_t of_scales = 2 + (has_attribute(dataset, "REFERENCE_LIST") ? 1 : 0);  // CLASS, NAME
  if (H5Oget_info(dataset, &info) < 0 || info.num_attrs > of_scales) return std::nullopt;
  std::vector<index_t> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  const bool read = values.empty() || H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                                              H5P_DEFAULT, values.data()) >= 0;
  return read ? std::optional(std::move(values)) : std::nullopt;
}

Handle make_scale(hid_t file, const std::string& path, const std::vector<index_t>& values) {
  const Handle space = make_space({ssize(values)});
  Handle scale(h5_check(H5Dcreate2(file, path.c_str(), H5T_NATIVE_INT64, space, H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT),
                        not_created, "dimension " + path + " cannot be created"),
               H5Dclose);
  if (!values.empty())
    h5_check_rc(H5Dwrite(scale, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                not_created, path);
  h5_check_rc(H5DSset_scale(scale, path.c_str() + 1), not_created, path);
  return scale;
}

/// Returns the scale of a name: an existing one with those values, or a new one; if foreign objects
/// have the name, /name_2 and so on.
Handle scale_named(hid_t file, const std::string& name, const std::vector<index_t>& values) {
  for (int n = 1;; ++n) {
    const std::string path = n == 1 ? "/" + name : fmt::format("/{}_{}", name, n);
    if (H5Lexists(file, path.c_str(), H5P_DEFAULT) <= 0) return make_scale(file, path, values);
    Handle there(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
    if (there >= 0 && H5Iget_type(there) == H5I_DATASET && own_scale(there) == values) return there;
  }
}

/// Returns the name of a dimension's scale. Steps are named `step` instead of `time` if the input
/// has a variable of that name, which may become a coordinate of the output.
std::string scale_name(const DatasetSpec& spec, std::size_t d) {
  if (d != 0 || spec.time.empty() || !spec.coordinates) return spec.dimensions[d];
  const DatasetName& from = spec.coordinates->from;
  const Handle input = open_file(from.file);
  const std::string group = from.path.substr(0, from.path.rfind('/') + 1);
  const auto has = [&](const std::string& path) {
    return H5Lexists(input, path.c_str(), H5P_DEFAULT) > 0;
  };
  const std::string& name = spec.dimensions[d];
  return has(group + name) || has("/" + name) ? "step" : name;
}

/// Attaches the dimension scales. They are at the root: inside a group they make a file with VTKHDF
/// unreadable for netCDF (4.9.0).
void attach_scales(hid_t file, hid_t dataset, const DatasetSpec& spec, const DatasetPlace& place) {
  const std::vector<bool> others = dimensions_with_scales(spec);
  for (std::size_t d = 0; d < std::max(spec.dimensions.size(), place.scales.size()); ++d) {
    const auto dimension = static_cast<unsigned>(d);
    if (d < place.scales.size() && place.scales[d] >= 0) {
      h5_check_rc(H5DSattach_scale(dataset, place.scales[d], dimension), not_created, spec.path);
    } else if (d < spec.dimensions.size() && !others[d] && "/" + spec.dimensions[d] != spec.path) {
      const Handle scale = scale_named(file, scale_name(spec, d), scale_values(spec, d));
      h5_check_rc(H5DSattach_scale(dataset, scale, dimension), not_created, spec.dimensions[d]);
    }
  }
}

/// Creates the groups that get attributes. Returns the objects that get some.
std::vector<AttributesOf> make_groups(hid_t file, const DatasetSpec& spec,
                                      const DatasetPlace& place, hid_t links) {
  std::vector<AttributesOf> described;
  for (const AttributesOf& one : spec.attributes) {
    const std::string& path = one.path;
    const bool there = path == "/" || H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0;
    if (!there || !place.of_others) described.push_back(one);
    if (there || path == spec.path) continue;
    const Handle list = for_attributes(creation_ordered(H5P_GROUP_CREATE));
    const Handle group(h5_check(H5Gcreate2(file, path.c_str(), links, list, H5P_DEFAULT),
                                not_created, "group '" + path + "' cannot be created"),
                       H5Gclose);
  }
  return described;
}

/// Writes NaN as the fill value, which marks missing values; floats only.
void write_fill_value(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  if (H5Tget_class(type) != H5T_FLOAT) return;
  const double none = std::numeric_limits<double>::quiet_NaN();
  write_attribute(dataset, "_FillValue", space, type, H5T_NATIVE_DOUBLE, &none);
}

/// Copies the value that a user defined for elements which are not written, if the output has the
/// elements of the input.
void take_fill_value(hid_t list, const DatasetSpec& spec) {
  for (const auto& [path, from] : spec.attributes) {
    if (path != spec.path || from.packing || !is_self_contained(spec.type)) continue;
    const Handle input = open_file(from.file), source = open_dataset(input, from);
    const Handle type(H5Dget_type(source), H5Tclose),
        creation(H5Dget_create_plist(source), H5Pclose);
    H5D_fill_value_t defined{};
    H5Pfill_value_defined(creation, &defined);
    if (defined != H5D_FILL_VALUE_USER_DEFINED || H5Tequal(type, spec.type) <= 0) continue;
    std::vector<std::byte> value(H5Tget_size(type));
    h5_check_rc(H5Pget_fill_value(creation, type, value.data()), ExitCode::bad_data, from.text());
    h5_check_rc(H5Pset_fill_value(list, type, value.data()), not_created, spec.path);
  }
}

/// Copies the attributes of a dataset or group of an input.
void take_attributes(hid_t object, const DatasetName& from) {
  const Handle input = open_file(from.file);
  const Handle source(
      h5_check(H5Oopen(input, from.path.c_str(), H5P_DEFAULT), ExitCode::bad_data, from.text()),
      H5Oclose);
  copy_attributes(source, object, from.text(),
                  from.packing ? PackingAttributes::omitted : PackingAttributes::copied);
  if (from.packing && std::isnan(from.packing->filled)) write_fill_value(object);
}

/// Copies the attributes of inputs to the dataset and the groups above it.
void take_attributes(hid_t file, hid_t dataset, const DatasetSpec& spec,
                     const std::vector<AttributesOf>& described) {
  for (const auto& [path, from] : described) {
    if (path == spec.path) {
      take_attributes(dataset, from);
    } else {
      const Handle group(h5_check(H5Oopen(file, path.c_str(), H5P_DEFAULT), not_created, path),
                         H5Oclose);
      take_attributes(group, from);
    }
  }
}

/// Returns the paths above "/a/b/c" and its own: "/a", "/a/b", "/a/b/c".
std::vector<std::string> paths_to(const std::string& path) {
  std::vector<std::string> paths;
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    paths.push_back(path.substr(0, slash));
  paths.push_back(path);
  return paths;
}

void set_storage(hid_t list, const Storage& storage, const std::string& path) {
  if (!storage.is_chunked()) {
    H5Pset_layout(list, H5D_CONTIGUOUS);
    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    return;
  }
  const std::vector<hsize_t> extents(storage.chunk.begin(), storage.chunk.end());
  h5_check_rc(H5Pset_chunk(list, static_cast<int>(extents.size()), extents.data()), not_created,
              path);
  for (const Filter& filter : storage.filters) {
    const herr_t set = filter.kind == Filter::Kind::shuffle ? H5Pset_shuffle(list)
                       : filter.kind == Filter::Kind::deflate
                           ? H5Pset_deflate(list, filter.parameter)
                           : H5Pset_fletcher32(list);
    h5_check_rc(set, not_created, path);
  }
}

}  // namespace

void require_free_paths(const std::string& file, std::span<const DatasetSpec> specs) {
  std::unordered_map<std::string, index_t> taken{{std::string("/") + schema::group, 1},
                                                 {"/VTKHDF", 1}};
  std::unordered_set<std::string> datasets;
  for (const DatasetSpec& spec : specs) {
    require(datasets.insert(spec.path).second, ExitCode::usage,
            fmt::format("two outputs have the name '{}:{}'; choose another path for one of them",
                        file, spec.path));
    for (const std::string& dimension : spec.dimensions) ++taken["/" + dimension];
  }
  for (const DatasetSpec& spec : specs) {
    // A field may have the name of one of its dimensions, which then gets no scale.
    const auto own =
        std::count_if(spec.dimensions.begin(), spec.dimensions.end(),
                      [&](const std::string& dimension) { return "/" + dimension == spec.path; });
    for (const std::string& path : paths_to(spec.path)) {
      const auto name = taken.find(path);
      const bool is_own = name != taken.end() && path == spec.path && name->second == own;
      require(name == taken.end() || is_own, ExitCode::usage,
              fmt::format("output path '{}' is reserved: Tessera uses '{}' itself; choose another",
                          spec.path, path));
      require(path == spec.path || !datasets.contains(path), ExitCode::usage,
              fmt::format("output '{}:{}' is below the dataset '{}', which cannot contain another; "
                          "choose another path",
                          file, spec.path, path));
    }
  }
}

bool is_own_scale(hid_t dataset, const std::string& path) {
  const auto values = own_scale(dataset);
  if (!values) return false;
  index_t next = 0;
  return path == "/time" || path == "/step" ||
         std::all_of(values->begin(), values->end(),
                     [&](index_t value) { return value == next++; });
}

Handle for_attributes(Handle list) {
  H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  H5Pset_attr_phase_change(list, 1000, 0);
  return list;
}

void set_data_alignment(hid_t access_list) { H5Pset_alignment(access_list, 1 << 16, 4096); }

index_t bytes_of(const DatasetSpec& spec) {
  auto bytes = static_cast<index_t>(H5Tget_size(spec.type));
  for (const index_t extent : spec.shape) bytes *= extent;
  return bytes;
}

index_t create_dataset(hid_t file, const DatasetSpec& spec, const DatasetPlace& place) {
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const std::vector<AttributesOf> described = make_groups(file, spec, place, links);
  Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!spec.attributes.empty()) list = for_attributes(std::move(list));
  set_storage(list, spec.storage, spec.path);
  take_fill_value(list, spec);
  if (is_self_contained(spec.type)) H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
  const Handle space = make_space(spec.shape);
  const Handle dataset(
      h5_check(H5Dcreate2(file, spec.path.c_str(), spec.type, space, links, list, H5P_DEFAULT),
               not_created, "dataset '" + spec.path + "' cannot be created"),
      H5Dclose);
  write_attribute(dataset, schema::checksum, std::string(16, '0'));
  attach_scales(file, dataset, spec, place);
  take_attributes(file, dataset, spec, described);
  const haddr_t offset = H5Dget_offset(dataset);
  return offset == HADDR_UNDEF ? -1 : static_cast<index_t>(offset);
}

}  // namespace tessera::inline v1::io
