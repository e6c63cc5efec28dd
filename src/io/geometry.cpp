#include "io/geometry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/dataset.hpp"
#include "io/output_dataset.hpp"
#include "io/small_copy.hpp"
#include "io/text_attribute.hpp"

namespace tessera::inline v1::io {
namespace {

using Vector = std::array<double, 3>;
constexpr const char* image_group = "/VTKHDF";

/// Returns the numbers of an attribute; none unless it has as many.
template <std::size_t N>
std::optional<std::array<double, N>> numbers_of(hid_t object, const char* name) {
  if (!has_attribute(object, name)) return std::nullopt;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  std::array<double, N> numbers{};
  const H5T_class_t form = H5Tget_class(type);
  const bool read = (form == H5T_INTEGER || form == H5T_FLOAT) &&
                    H5Sget_simple_extent_npoints(space) == hssize_t{N} &&
                    H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers.data()) >= 0;
  return read ? std::optional(numbers) : std::nullopt;
}

/// Returns whether all numbers are integers that an f64 holds exactly.
bool whole(const std::array<double, 6>& numbers) {
  return std::ranges::all_of(numbers, [](double number) {
    return std::abs(number) <= 0x1p53 && number == std::floor(number);
  });
}

/// An image of which a dataset is data.
struct Image {
  Geometry geometry;             // of its first value
  std::array<index_t, 3> count;  // values along x, y, z
  bool in_time;
};

/// Returns the vector in space of some steps along an axis.
Vector along(const Geometry& geometry, std::size_t axis, double steps) {
  Vector way{};
  for (std::size_t row = 0; row < 3; ++row)
    way[row] = geometry.direction[3 * row + axis] * geometry.spacing[axis] * steps;
  return way;
}

void shift(Geometry& geometry, const Vector& steps) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Vector way = along(geometry, axis, steps[axis]);
    for (std::size_t row = 0; row < 3; ++row) geometry.origin[row] += way[row];
  }
}

/// Returns whether a group of the image has the dataset.
bool has_data(hid_t file, const std::string& group, hid_t dataset) {
  if (H5Lexists(file, group.c_str(), H5P_DEFAULT) <= 0) return false;
  const Handle data(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose);
  return data >= 0 && !image_names(data, dataset).empty();
}

std::optional<Image> image_of(hid_t dataset) {
  const Handle file(H5Iget_file_id(dataset), H5Fclose);
  if (H5Lexists(file, image_group, H5P_DEFAULT) <= 0) return std::nullopt;
  const Handle group(H5Gopen2(file, image_group, H5P_DEFAULT), H5Gclose);
  if (group < 0 || text_of(group, "Type") != "ImageData") return std::nullopt;
  const bool cells = has_data(file, fmt::format("{}/CellData", image_group), dataset);
  const auto extent = numbers_of<6>(group, "WholeExtent");
  if (!extent || !whole(*extent) ||
      (!cells && !has_data(file, fmt::format("{}/PointData", image_group), dataset)))
    return std::nullopt;
  Image image{{}, {}, H5Lexists(group, "Steps", H5P_DEFAULT) > 0};
  image.geometry.origin = numbers_of<3>(group, "Origin").value_or(image.geometry.origin);
  image.geometry.spacing = numbers_of<3>(group, "Spacing").value_or(image.geometry.spacing);
  image.geometry.direction = numbers_of<9>(group, "Direction").value_or(image.geometry.direction);
  Vector first{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double steps = (*extent)[2 * axis + 1] - (*extent)[2 * axis];
    const bool halves = cells && steps > 0;  // a flat image has cells in its plane
    image.count[axis] = static_cast<index_t>(steps) + (halves ? 0 : 1);
    first[axis] = (*extent)[2 * axis] + (halves ? 0.5 : 0.0);
  }
  shift(image.geometry, first);
  return image;
}

constexpr int none = -1;  // time, or components

/// Returns the axis in space of each dimension of an image's dataset; empty if its extents are
/// others than the image's.
std::vector<int> axes_of(const Image& image, const std::vector<index_t>& extents) {
  const std::size_t time = image.in_time ? 1 : 0;
  for (const std::size_t dims : {3U, 2U}) {
    if (extents.size() < time + dims || extents.size() > time + dims + 1) continue;
    std::vector<int> axes(extents.size(), none);
    bool fits = dims == 3 || image.count[2] == 1;
    for (std::size_t d = 0; d < dims; ++d) {
      const std::size_t axis = dims - 1 - d;
      axes[time + d] = static_cast<int>(axis);
      fits = fits && extents[time + d] == image.count[axis];
    }
    if (fits) return axes;
  }
  return {};
}

/// Returns the geometry with the axes in another order, none of which moves in space.
Geometry permuted(const Geometry& from, const std::vector<int>& order) {
  Geometry to = from;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto source = static_cast<std::size_t>(order[axis]);
    to.spacing[axis] = from.spacing[source];
    for (std::size_t row = 0; row < 3; ++row)
      to.direction[3 * row + axis] = from.direction[3 * row + source];
  }
  return to;
}

}  // namespace

std::vector<std::string> image_names(hid_t group, hid_t object) {
  struct Found {
    H5O_info_t object{};
    std::vector<std::string> names;
  } found;
  if (H5Oget_info(object, &found.object) < 0) return {};
  H5Literate(
      group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t parent, const char* name, const H5L_info_t* info, void* data) -> herr_t {
        Found& of = *static_cast<Found*>(data);
        H5O_info_t one{};
        if (info->type == H5L_TYPE_HARD &&
            H5Oget_info_by_name(parent, name, &one, H5P_DEFAULT) >= 0 && one.addr == of.object.addr)
          of.names.emplace_back(name);
        return 0;
      },
      &found);
  return found.names;
}

std::optional<Geometry> geometry_of(const DatasetSpec& spec) {
  if (!spec.coordinates || spec.coordinates->rows_reordered) return std::nullopt;
  const DatasetName& from = spec.coordinates->from;
  const Handle file = open_file(from.file), dataset = open_dataset(file, from);
  const std::optional<Image> image = image_of(dataset);
  if (!image) return std::nullopt;
  const std::vector<index_t> extents = extents_of(dataset);
  const std::vector<int> axes = axes_of(*image, extents);
  if (axes.empty()) return std::nullopt;
  Vector begin{};
  std::vector<int> kept, order;  // axes of the selection; the input's of each of the output's axes
  const std::vector<layout::Range> ranges = resolve(from.selection, extents, from.text());
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (axes[d] != none)
      begin[static_cast<std::size_t>(axes[d])] = static_cast<double>(ranges[d].begin);
    if (d >= from.selection.size() || !from.selection[d].is_index) kept.push_back(axes[d]);
  }
  const std::vector<int>& places = spec.coordinates->axes;
  for (std::size_t d = spec.shape.size(); d-- > (spec.time.empty() ? 0U : 1U);) {
    const int place = places.empty() ? static_cast<int>(d) : places[d];
    if (place < 0 || place >= ssize(kept)) return std::nullopt;
    order.push_back(kept[static_cast<std::size_t>(place)]);
  }
  if (std::ranges::find(order, none) != order.end()) return std::nullopt;
  for (const int axis : {0, 1, 2})
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  Geometry geometry = image->geometry;
  shift(geometry, begin);
  return permuted(geometry, order);
}

}  // namespace tessera::inline v1::io
