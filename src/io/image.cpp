#include "io/image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <unordered_set>

#include "io/partials.hpp"
#include "io/raw_file.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr const char* group_name = "/VTKHDF";

std::string unwritten(const std::string& name) { return "'" + name + "' cannot be written"; }

template <class T, std::size_t N>
void write_array(hid_t object, const char* name, hid_t type, const std::array<T, N>& values) {
  const hsize_t count = N;
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  write_attribute(object, name, space, type, type, values.data());
}

/// Writes a string of fixed length, the only form that VTK reads.
void write_fixed_text(hid_t object, const char* name, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, value.size());
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  write_attribute(object, name, space, type, type, value.c_str());
}

Handle make_group(hid_t parent, const char* name) {
  const Handle list = creation_ordered(H5P_GROUP_CREATE);
  return {h5_check(H5Gcreate2(parent, name, H5P_DEFAULT, list, H5P_DEFAULT), not_created,
                   unwritten(name)),
          H5Gclose};
}

template <class T>
void write_list(hid_t parent, const char* name, hid_t type, const std::vector<T>& values) {
  const hsize_t count = values.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle dataset(
      h5_check(H5Dcreate2(parent, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
               not_created, unwritten(name)),
      H5Dclose);
  h5_check_rc(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), not_created,
              unwritten(name));
}

/// Escapes text for XML attributes and elements.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

/// Returns the extents in space, (z, y, x), with leading ones.
std::array<index_t, 3> space_extents(const DatasetSpec& spec) {
  std::array<index_t, 3> extents{1, 1, 1};
  const std::size_t time = spec.time.empty() ? 0 : 1;
  const std::size_t dims = spec.shape.size() - time;
  for (std::size_t d = 0; d < dims; ++d) extents[3 - dims + d] = spec.shape[time + d];
  return extents;
}

/// Returns the numbers of x, y and z in XDMF's order.
std::string zyx(const std::array<double, 3>& xyz) {
  return fmt::format("{} {} {}", xyz[2], xyz[1], xyz[0]);
}

void write_offsets(hid_t group, const DatasetSpec& spec, const std::string& name) {
  std::vector<index_t> each;
  for (index_t i = 0; i < static_cast<index_t>(spec.time.size()); ++i) each.push_back(i);
  write_list(group, name.c_str(), H5T_NATIVE_INT64, each);
}

void write_steps(hid_t group, const DatasetSpec& spec, const std::string& name) {
  const Handle steps = make_group(group, "Steps");
  const auto count = static_cast<index_t>(spec.time.size());
  write_attribute(steps, "NSteps", count);
  write_list(steps, "Values", H5T_NATIVE_DOUBLE,
             std::vector<double>(spec.time.begin(), spec.time.end()));
  write_offsets(make_group(steps, "PointDataOffsets"), spec, name);
}

/// Returns the XDMF item of one frame of a dataset.
std::string xdmf_frame(const std::string& file, const DatasetSpec& spec, std::size_t frame,
                       const std::string& extents) {
  const std::string values =
      fmt::format(R"(<DataItem Format="HDF" NumberType="Float" Precision="{}" )"
                  R"(Dimensions="{}">{}:{}</DataItem>)",
                  H5Tget_size(spec.type),
                  spec.time.empty() ? extents : fmt::format("{}", fmt::join(spec.shape, " ")),
                  escaped(std::filesystem::path(file).filename().string()), escaped(spec.path));
  if (spec.time.empty()) return values;
  std::string start = std::to_string(frame), stride = "1", count = "1";
  for (std::size_t d = 1; d < spec.shape.size(); ++d) {
    start += " 0";
    stride += " 1";
    count += fmt::format(" {}", spec.shape[d]);
  }
  return fmt::format(R"(<DataItem ItemType="HyperSlab" Dimensions="{}">)"
                     R"(<DataItem Dimensions="3 {}" Format="XML">{} {} {}</DataItem>{}</DataItem>)",
                     extents, spec.shape.size(), start, stride, count, values);
}

/// Adds a field to the existing image, if both or neither are series in time.
void link_sibling(hid_t file, const DatasetSpec& spec, const std::string& name) {
  const Handle group(
      h5_check(H5Gopen2(file, group_name, H5P_DEFAULT), not_created, unwritten(group_name)),
      H5Gclose);
  const std::string link = "PointData/" + name;
  const bool in_time = H5Lexists(group, "Steps", H5P_DEFAULT) > 0;
  if (in_time == spec.time.empty() || H5Lexists(group, link.c_str(), H5P_DEFAULT) > 0) return;
  h5_check_rc(
      H5Lcreate_hard(file, spec.path.c_str(), group, link.c_str(), H5P_DEFAULT, H5P_DEFAULT),
      not_created, unwritten(name));
  if (!in_time) return;
  const Handle offsets(h5_check(H5Gopen2(group, "Steps/PointDataOffsets", H5P_DEFAULT), not_created,
                                unwritten(group_name)),
                       H5Gclose);
  write_offsets(offsets, spec, name);
}

}  // namespace

std::vector<std::string> field_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const std::string& path : paths) {
    const std::string last = path.substr(path.rfind('/') + 1);
    std::string name = last;
    for (std::size_t n = names.size() + 1; !taken.insert(name).second; ++n)
      name = fmt::format("{}_{}", last, n);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> field_names(std::span<const DatasetSpec> specs) {
  std::vector<std::string> paths;
  for (const DatasetSpec& spec : specs) paths.push_back(spec.path);
  return field_names(paths);
}

bool is_vtk_image(const DatasetSpec& spec) {
  const auto time = static_cast<std::ptrdiff_t>(spec.time.empty() ? 0 : 1);
  const index_t dims = ssize(spec.shape) - time;
  return spec.image && dims >= 2 && dims <= 3 &&
         std::find(spec.shape.begin() + time, spec.shape.end() - 1, 1) == spec.shape.end() - 1;
}

Geometry common_geometry(std::span<const DatasetSpec> specs) {
  const auto first = std::ranges::find_if(
      specs, [](const DatasetSpec& spec) { return spec.geometry.has_value(); });
  return first == specs.end() ? Geometry{} : *first->geometry;
}

namespace {

void link_image(hid_t file, const DatasetSpec& spec, const std::string& name,
                const Geometry& geometry) {
  if (H5Lexists(file, group_name, H5P_DEFAULT) > 0) return link_sibling(file, spec, name);
  const Handle group = make_group(file, group_name);
  const std::array<index_t, 2> version{spec.time.empty() ? 1 : 2, 0};
  const auto n = space_extents(spec);
  write_array(group, "Version", H5T_NATIVE_INT64, version);
  write_fixed_text(group, "Type", "ImageData");
  write_array(group, "WholeExtent", H5T_NATIVE_INT64,
              std::array<index_t, 6>{0, n[2] - 1, 0, n[1] - 1, 0, n[0] - 1});
  write_array(group, "Origin", H5T_NATIVE_DOUBLE, geometry.origin);
  write_array(group, "Spacing", H5T_NATIVE_DOUBLE, geometry.spacing);
  write_array(group, "Direction", H5T_NATIVE_DOUBLE, geometry.direction);
  const Handle data = make_group(group, "PointData");
  write_fixed_text(data, "Scalars", name);
  h5_check_rc(H5Lcreate_hard(file, spec.path.c_str(), data, name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
              not_created, unwritten(name));
  if (!spec.time.empty()) write_steps(group, spec, name);
}

}  // namespace

void link_images(hid_t file, std::span<const DatasetSpec> specs) {
  const std::vector<std::string> names = field_names(specs);
  const Geometry geometry = common_geometry(specs);
  for (std::size_t d = 0; d < specs.size(); ++d)
    if (is_vtk_image(specs[d])) link_image(file, specs[d], names[d], geometry);
}

constexpr const char* xdmf_begin =
    "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\"><Domain>\n<Grid Name=\"";

std::string xdmf_text(const std::string& file, std::span<const DatasetSpec> specs) {
  const DatasetSpec& first = specs.front();
  const auto n = space_extents(
      first);  // two-dimensional fields are one layer of three dimensions, which is displayed flat
  const std::string extents = fmt::format("{} {} {}", n[0], n[1], n[2]);
  const std::vector<std::string> names = field_names(specs);
  const std::string name = escaped(names.front());
  std::string text =
      xdmf_begin + name + "\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  const Geometry geometry = common_geometry(specs);
  const std::size_t frames = first.time.empty() ? 1 : first.time.size();
  for (std::size_t f = 0; f < frames; ++f) {
    text += fmt::format(
        R"(<Grid Name="{0}"><Time Value="{1}"/>
<Topology TopologyType="3DCoRectMesh" Dimensions="{2}"/>
<Geometry GeometryType="ORIGIN_DXDYDZ"><DataItem Dimensions="3" Format="XML">{3}</DataItem>
<DataItem Dimensions="3" Format="XML">{4}</DataItem></Geometry>
)",
        name, first.time.empty() ? 0 : first.time[f], extents, zyx(geometry.origin),
        zyx(geometry.spacing));
    for (std::size_t d = 0; d < specs.size(); ++d)
      text +=
          fmt::format(R"(<Attribute Name="{}" AttributeType="Scalar" Center="Node">{}</Attribute>)",
                      escaped(names[d]), xdmf_frame(file, specs[d], f, extents));
    text += "</Grid>\n";
  }
  return text + "</Grid></Domain></Xdmf>\n";
}

namespace {

/// Returns whether the file begins with the text.
bool begins_with(const std::string& file, std::string_view text) {
  std::string begin(text.size(), '\0');
  return std::ifstream(file).read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
         begin == text;
}

}  // namespace

bool is_xdmf_name(const std::string& file, const std::string& path) {
  const std::string name = std::filesystem::path(file).filename().string() + path;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return c == ':' || static_cast<unsigned char>(c) > 126 || c < ' ';
  });
}

std::string xdmf_name(const std::string& file) {
  return std::filesystem::path(file).replace_extension(".xdmf").string();
}

std::string write_xdmf(const std::string& file, std::span<const DatasetSpec> specs) {
  const std::string name = xdmf_name(file);
  if (file_exists(name) && !begins_with(name, xdmf_begin)) return "";
  const std::string partial = partial_name(name);
  {
    create_new_file(partial);
    std::ofstream out(partial);
    out << xdmf_text(file, specs);
    const bool whole = static_cast<bool>(out.flush());
    if (!whole) discard_partial(partial);
    require(whole, not_created, fmt::format("'{}' cannot be written", name));
  }
  publish_file(partial, name);
  return name;
}

}  // namespace tessera::inline v1::io
