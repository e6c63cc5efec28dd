#include "io/attributes.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/schema.hpp"

namespace tessera::inline v1::io {
namespace {

/// Attributes that describe how a dataset is stored in its file, and its relations to other
/// datasets.
constexpr std::array<std::string_view, 8> of_its_file = {
    "DIMENSION_LIST", "DIMENSION_LABELS",    "REFERENCE_LIST", "_Netcdf4Dimid",
    "_NCProperties",  "_Netcdf4Coordinates", "_nc3_strict",    schema::checksum};
/// Attributes that belong to dimension scales only if the object is one: pictures and tables have a
/// CLASS, too.
constexpr std::array<std::string_view, 2> of_scales = {"CLASS", "NAME"};

bool is_among(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the first extent of a dataset; none for other objects and scalars.
std::optional<hsize_t> rows_of(hid_t object) {
  if (H5Iget_type(object) != H5I_DATASET) return std::nullopt;
  const Handle space(H5Dget_space(object), H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  return H5Sget_simple_extent_dims(space, extents.data(), nullptr) > 0 ? std::optional(extents[0])
                                                                       : std::nullopt;
}

/// Attributes that define the values of stored numbers.
constexpr std::array<std::string_view, 8> of_packing = {"scale_factor",  "add_offset", "_FillValue",
                                                        "missing_value", "valid_min",  "valid_max",
                                                        "valid_range",   "_Unsigned"};

std::vector<std::string> names_of(hid_t object) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  for (const H5_index_t order :
       {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {  // not every object tracks creation order
    names.clear();
    hsize_t at = 0;
    if (H5Aiterate2(object, order, H5_ITER_INC, &at, collect, &names) >= 0) break;
  }
  return names;
}

/// An attribute with its value in native types.
class Attribute {
 public:
  Attribute(hid_t object, const std::string& name) : name_(name) {
    const std::string what = "attribute '" + name + "'";
    const Handle attribute(h5_check(H5Aopen(object, name.c_str(), H5P_DEFAULT), what), H5Aclose);
    const Handle type(h5_check(H5Aget_type(attribute), what), H5Tclose);
    if (H5Tdetect_class(type, H5T_REFERENCE) > 0 || H5Tdetect_class(type, H5T_TIME) > 0) return;
    stored_ = Handle(h5_check(H5Tcopy(type), what), H5Tclose);
    held_ = Handle(h5_check(H5Tget_native_type(type, H5T_DIR_ASCEND), what), H5Tclose);
    space_ = Handle(h5_check(H5Aget_space(attribute), what), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space_);
    if (count <= 0) return;  // no elements, or a null dataspace
    value_.resize(static_cast<std::size_t>(checked_mul(
        static_cast<index_t>(count), static_cast<index_t>(H5Tget_size(held_)), "an attribute")));
    h5_check_rc(H5Aread(attribute, held_, value_.data()), what);
  }
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;
  ~Attribute() {
    if (!value_.empty()) H5Dvlen_reclaim(held_, space_, H5P_DEFAULT, value_.data());
  }

  /// Returns whether the attribute has the same meaning in another file.
  [[nodiscard]] bool is_portable() const { return stored_ >= 0; }
  [[nodiscard]] hid_t type() const { return stored_; }

  void write(hid_t object) const {
    write_attribute(object, name_, space_, stored_, held_,
                    value_.empty() ? nullptr : value_.data());
  }

 private:
  std::string name_;
  Handle stored_, held_, space_;
  std::vector<std::byte> value_;
};

/// Calls body(attribute, name) for the attributes that may be copied. Errors name the attribute.
void for_each_portable(hid_t object, const std::string& name, const auto& body) {
  const bool scale = H5Iget_type(object) == H5I_DATASET && H5DSis_scale(object) > 0;
  for (const std::string& one : names_of(object)) {
    if (is_among(of_its_file, one) || (scale && is_among(of_scales, one))) continue;
    try {
      const Attribute attribute(object, one);
      if (attribute.is_portable()) body(attribute, one);
    } catch (const Error& error) {
      throw Error(
          error.code(),
          fmt::format("attribute '{}' of {} cannot be {} ({}); remove it from the input", one, name,
                      error.code() == ExitCode::bad_data ? "read" : "written to the output",
                      error.what()));
    }
  }
}

}  // namespace

void copy_attributes(hid_t from, hid_t to, const std::string& name, PackingAttributes packing) {
  const bool data = H5Iget_type(to) == H5I_DATASET;
  const Handle type(data ? H5Dget_type(to) : hid_t{-1}, H5Tclose);
  for_each_portable(from, name, [&](const Attribute& attribute, const std::string& one) {
    const bool wrong_type = one == "_FillValue" && data && H5Tequal(attribute.type(), type) <= 0;
    const bool other_rows = one == "NROWS" && rows_of(from) != rows_of(to);  // specific to PyTables
    const bool left_out = packing == PackingAttributes::omitted && is_among(of_packing, one);
    if (!wrong_type && !other_rows && !left_out && !has_attribute(to, one)) attribute.write(to);
  });
}

void read_attributes(hid_t from, const std::string& name) {
  for_each_portable(from, name, [](const Attribute&, const std::string&) {});
}

}  // namespace tessera::inline v1::io
