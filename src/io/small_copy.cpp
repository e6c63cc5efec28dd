#include "io/small_copy.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <string_view>

#include "io/attributes.hpp"
#include "io/checksum.hpp"
#include "io/content.hpp"
#include "io/home_file.hpp"
#include "io/output_dataset.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr std::string_view no_variable = "This is a netCDF dimension but not a netCDF variable.";

std::string scale_name_of(hid_t scale) {
  const auto length = std::max<ssize_t>(0, H5DSget_scale_name(scale, nullptr, 0));
  std::string name(static_cast<std::size_t>(length), '\0');
  H5DSget_scale_name(scale, name.data(), name.size() + 1);
  return name;
}

}  // namespace

bool is_dimension_only(hid_t scale) { return scale_name_of(scale).starts_with(no_variable); }

void make_scale(hid_t from, hid_t to, index_t rows) {
  if (H5DSis_scale(to) > 0) return;
  std::string name = scale_name_of(from);
  if (name.starts_with(no_variable)) name = fmt::format("{}{:10}", no_variable, rows);
  h5_check_rc(H5DSset_scale(to, name.empty() ? nullptr : name.c_str()), not_created, path_of(to));
}

bool holds(hid_t dataset, const std::vector<index_t>& shape, const Content& content) {
  const Handle space(H5Dget_space(dataset), H5Sclose), type(H5Dget_type(dataset), H5Tclose);
  if (extents_of(dataset) != shape || H5Tequal(type, content.type) <= 0) return false;
  const Elements elements(dataset, space);
  return content_checksum(dataset, type, elements.data(), 0) == content.sum;
}

Handle create_copy(hid_t file, const std::string& path, const std::vector<index_t>& shape,
                   const Content& content, hid_t source) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const Handle space(
      shape.empty() ? H5Screate(H5S_SCALAR)
                    : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
      H5Sclose);
  const Handle type(H5Tcopy(content.type), H5Tclose), links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const Handle list = for_attributes(Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose));
  Handle copy(h5_check(H5Dcreate2(file, path.c_str(), type, space, links, list, H5P_DEFAULT),
                       not_created, fmt::format("dataset '{}' cannot be created", path)),
              H5Dclose);
  if (!content.data.empty())
    h5_check_rc(H5Dwrite(copy, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, content.data.data()),
                not_created, path);
  write_attribute(copy, schema::checksum, checksum_text(content.sum));
  copy_attributes(source, copy, path_of(source), PackingAttributes::copied);
  if (H5DSis_scale(source) > 0 && shape.size() == 1) make_scale(source, copy, shape.front());
  return copy;
}

void copy_whole(hid_t source, hid_t file, const std::string& path,
                std::vector<std::string>& created) {
  const Handle space(H5Dget_space(source), H5Sclose);
  const Elements elements(source, space);
  const Content content{elements.type(), elements.data(),
                        content_checksum(source, elements.type(), elements.data(), 0)};
  const std::vector<index_t> shape = extents_of(source);
  const Handle there(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (there < 0) {
    (void)create_copy(file, path, shape, content, source);
    created.push_back(path);
    return;
  }
  require(H5Iget_type(there) == H5I_DATASET && holds(there, shape, content), not_created,
          fmt::format("the output has another object '{}' than the input; name another file or "
                      "group",
                      path));
}

}  // namespace tessera::inline v1::io
