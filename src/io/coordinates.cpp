#include "io/coordinates.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "io/attributes.hpp"
#include "io/content.hpp"
#include "io/home_file.hpp"
#include "io/nexus.hpp"
#include "io/small_copy.hpp"
#include "io/text_attribute.hpp"
#include "io/variable_part.hpp"

namespace tessera::inline v1::io {
namespace {

/// Attributes that name variables (CF 1.11).
constexpr std::array named_by = {"coordinates", "grid_mapping", "ancillary_variables"};

Identity identity_of(hid_t object) {
  H5O_info_t info{};
  if (H5Oget_info(object, &info) < 0) return {0, HADDR_UNDEF};
  return {info.fileno, info.addr};
}

/// Returns the scales of a dimension, open.
std::vector<Handle> scales_of(hid_t dataset, std::size_t dimension) {
  std::vector<Handle> scales;
  if (!has_attribute(dataset, "DIMENSION_LIST")) return scales;
  H5DSiterate_scales(
      dataset, static_cast<unsigned>(dimension), nullptr,
      [](hid_t, unsigned, hid_t scale, void* into) -> herr_t {
        H5Iinc_ref(scale);
        static_cast<std::vector<Handle>*>(into)->emplace_back(scale, H5Dclose);
        return 0;
      },
      &scales);
  return scales;
}

std::string label_of(hid_t dataset, std::size_t dimension) {
  const auto d = static_cast<unsigned>(dimension);
  const auto length = std::max<ssize_t>(0, H5DSget_label(dataset, d, nullptr, 0));
  std::string label(static_cast<std::size_t>(length), '\0');
  if (length > 0) H5DSget_label(dataset, d, label.data(), label.size() + 1);
  return label;
}

std::string parent_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
}
std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string joined(const std::string& group, const std::string& name) {
  return (group == "/" ? "" : group) + "/" + name;
}

Handle open_variable(hid_t file, const std::string& path) {
  Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  return object >= 0 && H5Iget_type(object) == H5I_DATASET ? std::move(object) : Handle();
}

/// Returns the variables that an attribute names: "lat lon", "area: cell_area". Open.
std::vector<Handle> variables_named(hid_t file, hid_t object, const char* attribute) {
  std::vector<Handle> variables;
  std::istringstream words(text_of(object, attribute));
  for (std::string word; words >> word;) {
    Handle variable = open_variable(file, joined(parent_of(path_of(object)), word));
    if (variable < 0) variable = open_variable(file, "/" + word);
    if (variable >= 0) variables.push_back(std::move(variable));
  }
  return variables;
}

class CoordinateCopy {
 public:
  CoordinateCopy(hid_t file, std::span<const DatasetSpec> specs, const DatasetSpec& spec)
      : file_(file),
        specs_(specs),
        spec_(spec),
        from_(spec.coordinates->from),
        input_(open_file(from_.file)),
        source_(open_dataset(input_, from_)),
        result_(h5_check(H5Dopen2(file, spec.path.c_str(), H5P_DEFAULT), not_created, spec.path),
                H5Dclose) {
    const std::vector<index_t> extents = extents_of(source_);
    std::vector<std::size_t> rest;  // axes that the selection keeps
    for (const layout::Range& range : resolve(from_.selection, extents, from_.text())) {
      const std::size_t s = axes_.size();
      const bool kept = s >= from_.selection.size() || !from_.selection[s].is_index;
      if (kept) rest.push_back(s);
      axes_.push_back({range, std::nullopt, false, {}, !kept});
      for (const Handle& scale : scales_of(source_, s))
        axes_.back().scales.push_back(identity_of(scale));
    }
    const auto& places = spec.coordinates->axes;
    for (std::size_t d = 0; d < spec.shape.size(); ++d) {
      const int axis = places.empty() ? static_cast<int>(d) : places[d];
      if (axis < 0 || axis >= static_cast<int>(rest.size())) continue;
      Axis& one = axes_[rest[static_cast<std::size_t>(axis)]];
      one.place = d;
      one.reordered = d == 0 && spec.coordinates->rows_reordered;
    }
  }

  /// Returns the paths of new datasets.
  std::vector<std::string> run(const DatasetPlace& place) {
    keep_scale();
    for (std::size_t s = 0; s < axes_.size(); ++s) {
      const auto d = axes_[s].place;
      for (const Handle& scale : axes_[s].picked ? scales_of(source_, s) : std::vector<Handle>())
        keep_scalar(scale, axes_[s]);
      if (!d || (*d < place.scales.size() && place.scales[*d] >= 0)) continue;
      for (const Handle& scale : scales_of(source_, s)) attach(scale, &axes_[s], result_, *d);
      copy_label(s, *d);
    }
    for (const char* attribute : named_by) copy_named(source_, attribute);
    copy_nexus();
    return new_;
  }

 private:
  /// Makes the output a scale if the input is one.
  void keep_scale() const {
    if (axes_.size() == 1 && spec_.shape.size() == 1 && H5DSis_scale(source_) > 0)
      make_scale(source_, result_, spec_.shape.front());
  }

  /// Keeps the coordinate of an axis that an index removes, as a scalar coordinate (CF 5.7).
  void keep_scalar(hid_t scale, const Axis& axis) {
    constexpr const char* attribute = "coordinates";
    if (is_dimension_only(scale)) return;
    const Handle copy = carried(scale, axes_along(scale, &axis));
    if (copy < 0) return;
    copy_named(scale, "bounds");
    const std::string path = path_of(copy);
    if (parent_of(path) != parent_of(spec_.path)) return;
    std::string names = text_of(result_, attribute);
    names += (names.empty() ? "" : " ") + name_in(path);
    if (has_attribute(result_, attribute)) H5Adelete(result_, attribute);
    write_attribute(result_, attribute, names);
  }

  void attach(hid_t scale, const Axis* axis, hid_t to, std::size_t dimension) {
    Axis first{{0, spec_.shape[0]}, axis != nullptr ? axis->place : std::nullopt, false, {}, false};
    const bool rows = axis != nullptr && axis->reordered && is_dimension_only(scale);
    const Handle copy = carried(scale, axes_along(scale, rows ? &first : axis));
    if (copy < 0 || H5DSis_scale(copy) <= 0) return;
    h5_check_rc(H5DSattach_scale(to, copy, static_cast<unsigned>(dimension)), not_created,
                spec_.path);
    copy_named(scale, "bounds");
  }

  void copy_label(std::size_t axis, std::size_t dimension) const {
    const std::string label = label_of(source_, axis);
    if (!label.empty()) H5DSset_label(result_, static_cast<unsigned>(dimension), label.c_str());
  }

  /// Copies the variables that an attribute names.
  void copy_named(hid_t object, const char* attribute) {
    for (const Handle& variable : variables_named(input_, object, attribute))
      (void)carried(variable, axes_of(variable));
  }

  /// Finds the axes of a variable by the scales that it shares with the dataset.
  [[nodiscard]] AxesOf axes_of(hid_t variable) const {
    AxesOf axes;
    const Identity own = identity_of(variable);
    for (std::size_t d = 0; d < extents_of(variable).size(); ++d) {
      std::vector<Identity> scales{own};
      for (const Handle& scale : scales_of(variable, d)) scales.push_back(identity_of(scale));
      const auto found = std::ranges::find_if(axes_, [&](const Axis& axis) {
        return std::ranges::find_first_of(axis.scales, scales) != axis.scales.end();
      });
      axes.push_back(found == axes_.end() ? nullptr : &*found);
    }
    return axes;
  }

  /// Returns the output whose rows are those of a variable; none if it is not among the specs.
  [[nodiscard]] Handle among_rows(hid_t variable) const {
    const std::string path = path_of(variable);
    for (const DatasetSpec& other : specs_) {
      const auto& from = other.coordinates;
      if (!from || !from->rows_reordered || from->from.path != path) continue;
      Handle there(H5Dopen2(file_, other.path.c_str(), H5P_DEFAULT), H5Dclose);
      if (H5DSis_scale(variable) > 0) make_scale(variable, there, other.shape.front());
      return there;
    }
    return {};
  }

  /// Returns the copy of a variable in the output, open; none if its rows are reordered, or it
  /// refers to other objects.
  Handle carried(hid_t variable, const AxesOf& axes) {
    const auto moves = [](const Axis* axis) { return axis != nullptr && axis->reordered; };
    const auto stays = [](const Axis* axis) { return axis != nullptr && !axis->reordered; };
    const bool is_other = std::ranges::any_of(axes, stays) && std::ranges::none_of(axes, moves);
    if (Handle row = is_other ? Handle() : among_rows(variable); row >= 0) return row;
    const Handle type(H5Dget_type(variable), H5Tclose);
    if (std::ranges::any_of(axes, moves) || H5Tdetect_class(type, H5T_REFERENCE) != 0) return {};
    const Variable part = part_of(variable, axes);
    if (!part.exists) return {};
    const Elements elements(variable, part.space);
    const std::vector<std::byte> data = permuted(elements, part);
    return stored(part,
                  {elements.type(), data, content_checksum(input_, elements.type(), data, 0)});
  }

  /// Returns the dataset with that content: an existing one, or a new one, with a number after the
  /// name if others have it.
  Handle stored(const Variable& variable, const Content& content) {
    const std::string path = path_of(variable.id);
    const bool near = parent_of(path) == parent_of(from_.path) && !spec_.image;
    const std::string group = near ? parent_of(spec_.path) : "/";
    for (int n = 1;; ++n) {
      const std::string name = n == 1 ? name_in(path) : fmt::format("{}_{}", name_in(path), n);
      const std::string to = joined(group, name);
      if (H5Lexists(file_, to.c_str(), H5P_DEFAULT) <= 0) return created(to, variable, content);
      Handle there = open_variable(file_, to);
      if (there >= 0 && holds(there, variable.shape, content)) return there;
    }
  }

  Handle created(const std::string& path, const Variable& variable, const Content& content) {
    Handle copy = create_copy(file_, path, variable.shape, content, variable.id);
    new_.push_back(path);
    for (std::size_t d = 0; d < variable.order.size(); ++d)
      attach_own(variable, variable.order[d], copy, d);
    return copy;
  }

  /// Attaches the scales of a dimension of a variable to its copy.
  void attach_own(const Variable& variable, std::size_t from, hid_t copy, std::size_t to) {
    const Axis* const axis = variable.axes[from];
    for (const Handle& scale : scales_of(variable.id, from)) attach(scale, axis, copy, to);
  }

  /// Copies the fields that name the axes of a NeXus plot, and describes the output's plot.
  void copy_nexus() {
    const std::string group = parent_of(from_.path);
    const Handle from(H5Gopen2(input_, group.c_str(), H5P_DEFAULT), H5Gclose);
    const NexusPlot plot(from, source_, name_in(from_.path));
    if (!plot.found() || spec_.coordinates->rows_reordered) return;
    std::vector<std::optional<std::size_t>> places;
    for (const Axis& axis : axes_) places.push_back(axis.place);
    for (const NexusPlot::Field& field : plot.fields(axes_.size())) {
      const Handle variable = open_variable(input_, joined(group, field.name));
      if (variable < 0 || extents_of(variable).size() != field.axes.size()) continue;
      AxesOf axes;
      bool fits = true;
      for (std::size_t d = 0; d < field.axes.size(); ++d) {
        axes.push_back(&axes_[field.axes[d]]);
        const index_t rows = extents_of(variable)[d];
        fits = fits && rows == extents_of(source_)[field.axes[d]];
      }
      if (fits) (void)carried(variable, axes);
    }
    const Handle to(H5Gopen2(file_, parent_of(spec_.path).c_str(), H5P_DEFAULT), H5Gclose);
    plot.write(to, result_, {name_in(spec_.path), places, spec_.shape.size()});
  }

  hid_t file_;
  std::span<const DatasetSpec> specs_;
  const DatasetSpec& spec_;
  const DatasetName& from_;
  Handle input_, source_, result_;
  std::vector<Axis> axes_;
  std::vector<std::string> new_;
};

}  // namespace

std::vector<std::vector<std::string>> scales_by_dimension(hid_t dataset) {
  std::vector<std::vector<std::string>> paths(extents_of(dataset).size());
  for (std::size_t d = 0; d < paths.size(); ++d)
    for (const Handle& scale : scales_of(dataset, d)) paths[d].push_back(path_of(scale));
  if (!paths.empty() && H5DSis_scale(dataset) > 0) paths.front().push_back(path_of(dataset));
  return paths;
}

std::vector<std::string> row_coordinates(hid_t file, hid_t dataset) {
  std::vector<std::string> paths;
  std::vector<Identity> scales;
  for (const Handle& scale : scales_of(dataset, 0)) {
    scales.push_back(identity_of(scale));
    if (!is_dimension_only(scale)) paths.push_back(path_of(scale));
  }
  for (const Handle& variable : variables_named(file, dataset, "coordinates")) {
    const std::vector<Handle> own = scales_of(variable, 0);
    if (std::ranges::any_of(own, [&](const Handle& scale) {
          return std::ranges::find(scales, identity_of(scale)) != scales.end();
        }))
      paths.push_back(path_of(variable));
  }
  return paths;
}

std::vector<bool> dimensions_with_scales(const DatasetSpec& spec) {
  std::vector<bool> found(spec.shape.size(), false);
  if (!spec.coordinates) return found;
  const DatasetName& from = spec.coordinates->from;
  const Handle input = open_file(from.file), source = open_dataset(input, from);
  std::vector<index_t> dimensions(extents_of(source).size());
  std::iota(dimensions.begin(), dimensions.end(), index_t{0});
  const std::vector<index_t> rest = kept(from.selection, dimensions);
  for (std::size_t d = 0; d < found.size(); ++d) {
    const auto& axes = spec.coordinates->axes;
    const int axis = axes.empty() ? static_cast<int>(d) : axes[d];
    if (axis < 0 || axis >= ssize(rest)) continue;
    const auto dimension = static_cast<std::size_t>(rest[static_cast<std::size_t>(axis)]);
    found[d] = !scales_of(source, dimension).empty();
  }
  return found;
}

void read_coordinates(hid_t file, hid_t dataset, const std::function<void(index_t)>& step) {
  std::vector<Handle> all;
  for (std::size_t d = 0; d < extents_of(dataset).size(); ++d)
    for (Handle& scale : scales_of(dataset, d)) all.push_back(std::move(scale));
  for (const char* attribute : named_by)
    for (Handle& one : variables_named(file, dataset, attribute)) all.push_back(std::move(one));
  for (const Handle& one : all) {
    const Handle space(H5Dget_space(one), H5Sclose), type(H5Dget_type(one), H5Tclose);
    step(checked_mul(H5Sget_simple_extent_npoints(space), static_cast<index_t>(H5Tget_size(type)),
                     "a coordinate"));
    read_attributes(one, path_of(one));
    if (is_portable(type)) (void)Elements(one, space);
  }
  const std::string group = parent_of(path_of(dataset));
  read_attributes(Handle(H5Oopen(file, group.c_str(), H5P_DEFAULT), H5Oclose), group);
}

std::vector<std::string> dimension_names(const DatasetName& name) {
  const Handle file = open_file(name.file), dataset = open_dataset(file, name);
  const Handle group(H5Gopen2(file, parent_of(name.path).c_str(), H5P_DEFAULT), H5Gclose);
  const std::size_t rank = extents_of(dataset).size();
  std::vector<std::string> names(rank);
  for (const NexusPlot::Field& field : NexusPlot(group, dataset, name_in(name.path)).fields(rank))
    if (field.axes.size() == 1) names[field.axes.front()] = field.name;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::string label = label_of(dataset, d);
    if (!label.empty()) names[d] = label;
    for (const Handle& scale : scales_of(dataset, d)) names[d] = name_in(path_of(scale));
  }
  std::vector<std::string> rest;
  for (std::size_t d = 0; d < rank; ++d)
    if (d >= name.selection.size() || !name.selection[d].is_index) rest.push_back(names[d]);
  return rest;
}

void copy_coordinates(hid_t file, std::span<const DatasetSpec> specs, std::size_t which,
                      const DatasetPlace& place, std::vector<std::string>& created) {
  if (!specs[which].coordinates) return;
  for (std::string& path : CoordinateCopy(file, specs, specs[which]).run(place))
    created.push_back(std::move(path));
}

}  // namespace tessera::inline v1::io
