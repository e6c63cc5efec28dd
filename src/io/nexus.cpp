#include "io/nexus.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "io/text_attribute.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr const char* indices = "_indices";

/// Returns the integers of an attribute; none if it holds something else.
std::vector<std::size_t> integers_of(hid_t object, const char* name) {
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (H5Tget_class(type) != H5T_INTEGER || count < 1 || count > H5S_MAX_RANK) return {};
  std::vector<std::size_t> values(static_cast<std::size_t>(count));
  if (H5Aread(attribute, H5T_NATIVE_UINT64, values.data()) < 0) return {};
  return values;
}

/// Returns the attributes NAME_indices of a group.
std::vector<NexusPlot::Field> indices_of(hid_t group) {
  std::vector<NexusPlot::Field> fields;
  hsize_t at = 0;
  H5Aiterate2(
      group, H5_INDEX_NAME, H5_ITER_INC, &at,
      [](hid_t object, const char* name, const H5A_info_t*, void* into) -> herr_t {
        const std::string word = name;
        if (word.ends_with(indices))
          static_cast<std::vector<NexusPlot::Field>*>(into)->push_back(
              {word.substr(0, word.rfind(indices)), integers_of(object, name)});
        return 0;
      },
      &fields);
  return fields;
}

void write_integers(hid_t object, const std::string& name, const std::vector<index_t>& values) {
  const hsize_t count = values.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  write_attribute(object, name, space, H5T_NATIVE_INT64, H5T_NATIVE_INT64, values.data());
}

}  // namespace

NexusPlot::NexusPlot(hid_t group, hid_t dataset, std::string name) : name_(std::move(name)) {
  if (group < 0) return;
  is_signal_ = text_of(group, "signal") == name_;
  const std::string own = text_of(dataset, "axes");
  separator_ = own.find(',') != std::string::npos ? ',' : ':';
  if (!own.empty()) own_axes_ = split(own, separator_);
  if (!is_signal_) return;
  axes_ = texts_of(group, "axes").value_or(std::vector<std::string>{});
  indices_ = indices_of(group);
}

std::vector<NexusPlot::Field> NexusPlot::fields(std::size_t rank) const {
  std::vector<Field> fields = indices_;
  for (const auto& names : {axes_, own_axes_}) {
    for (std::size_t s = 0; names.size() == rank && s < rank; ++s)
      if (std::ranges::find(fields, names[s], &Field::name) == fields.end())
        fields.push_back({names[s], {s}});
  }
  std::erase_if(fields, [&](const Field& field) {
    return field.name.empty() || field.name == "." || field.axes.empty() ||
           std::ranges::any_of(field.axes, [&](std::size_t axis) { return axis >= rank; });
  });
  return fields;
}

std::vector<std::string> NexusPlot::moved(const std::vector<std::string>& names,
                                          const Output& output) {
  std::vector<std::string> result(output.rank, ".");
  for (std::size_t s = 0; s < names.size(); ++s)
    if (output.places[s]) result[*output.places[s]] = names[s];
  return result;
}

void NexusPlot::write(hid_t group, hid_t dataset, const Output& output) const {
  if (own_axes_.size() == output.places.size() && has_attribute(dataset, "axes"))
    write_attribute(dataset, "axes", join(moved(own_axes_, output), std::string(1, separator_)));
  const auto axes = texts_of(group, "axes").value_or(std::vector<std::string>{});
  if (!is_signal_ || text_of(group, "signal") != name_ || axes != axes_) return;  // of others
  write_attribute(group, "signal", output.name);
  if (axes_.size() == output.places.size()) write_texts(group, "axes", moved(axes_, output));
  for (const Field& field : indices_) {
    const std::string attribute = field.name + indices;
    if (!has_attribute(group, attribute)) continue;
    std::vector<index_t> places;
    for (const std::size_t axis : field.axes)
      if (axis < output.places.size() && output.places[axis])
        places.push_back(static_cast<index_t>(*output.places[axis]));
    std::ranges::sort(places);
    H5Adelete(group, attribute.c_str());
    if (!places.empty()) write_integers(group, attribute, places);
  }
}

}  // namespace tessera::inline v1::io
