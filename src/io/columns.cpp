#include "io/columns.hpp"

#include <fmt/core.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>

#include "io/content.hpp"
#include "io/coordinates.hpp"
#include "io/references.hpp"
#include "io/schema.hpp"
#include "io/text_attribute.hpp"
#include "io/type_name.hpp"

namespace tessera::inline v1::io {
namespace {

using Key = Column::Key;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns the names of the direct members of a group, in order of their creation if the group
/// tracks it.
std::vector<std::string> links_of(hid_t group) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* link, const H5L_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(link);
    return 0;
  };
  for (const H5_index_t order : {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {
    names.clear();
    if (H5Literate(group, order, H5_ITER_INC, nullptr, collect, &names) >= 0) break;
  }
  return names;
}

/// Sets a column's number type and kind of comparison by its HDF5 type.
void describe(hid_t type, Column& column) {
  DatasetInfo& info = column.info;
  info.element_bytes = static_cast<index_t>(H5Tget_size(type));
  const H5T_class_t type_class = H5Tget_class(type);
  column.key = type_class == H5T_STRING ? Key::text
               : type_class == H5T_INTEGER || type_class == H5T_FLOAT || type_class == H5T_ENUM
                   ? Key::number
                   : Key::bytes;
  if (column.key != Key::number) {
    if (info.kind == DatasetInfo::Kind::complex) return;
    info.kind = DatasetInfo::Kind::other;
    info.other = type_name(type);
    return;
  }
  const Handle base(type_class == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type), H5Tclose);
  info.kind = type_class == H5T_FLOAT ? DatasetInfo::Kind::real : DatasetInfo::Kind::integer;
  info.is_signed = type_class == H5T_FLOAT || H5Tget_sign(base) == H5T_SGN_2;
  info.other = number_name(base);
}

/// Returns why rows of a dataset cannot be carried to another file; empty if they can.
std::string obstacle_of(hid_t dataset, hid_t type) {
  if (text_of(dataset, "PSEUDOATOM") == "object")
    return "pickled Python objects, all in one element";  // PyTables
  const bool inside = H5Tdetect_class(type, H5T_REFERENCE) > 0 && !are_references(type);
  return !inside && is_portable(type) ? "" : "references to regions, or within elements";
}

Column inspect_column(hid_t dataset, const DatasetName& name) {
  Column column{.name = last_part(name.path), .path = name.path, .info = inspect(dataset, name)};
  const Handle type(H5Dget_type(dataset), H5Tclose);
  column.obstacle = obstacle_of(dataset, type);
  column.has_scales = has_attribute(dataset, "DIMENSION_LIST") ||
                      has_attribute(dataset, "coordinates") || H5DSis_scale(dataset) > 0;
  describe(type, column);
  return column;
}

/// Returns whether a group is one column of several datasets, as AnnData stores categories.
bool is_column_of_parts(hid_t group) {
  const std::string how = text_of(group, "encoding-type");
  return how == "categorical" || how.starts_with("nullable-");
}

std::vector<Column> members_of(hid_t dataset, const Column& whole) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  std::vector<Column> members;
  if (H5Tget_class(type) != H5T_COMPOUND) return members;
  for (unsigned m = 0; m < static_cast<unsigned>(std::max(0, H5Tget_nmembers(type))); ++m) {
    char* const member = H5Tget_member_name(type, m);
    Column column = whole;
    column.name = column.member = member;
    H5free_memory(member);
    column.info.kind = DatasetInfo::Kind::other;
    const Handle own(H5Tget_member_type(type, m), H5Tclose);
    column.info.self_contained = is_self_contained(own);
    describe(own, column);
    members.push_back(std::move(column));
  }
  return members;
}

}  // namespace

index_t Column::row_bytes() const {
  index_t bytes = info.element_bytes;
  for (std::size_t d = 1; d < info.shape.size(); ++d)
    bytes = checked_mul(bytes, info.shape[d], "a row");
  return bytes;
}

namespace {

/// Returns whether a dataset has a null dataspace.
bool is_null(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  return H5Sget_simple_extent_type(space) == H5S_NULL;
}

/// Adds the datasets of a group, with `prefix` before their names.
void add_members(hid_t group, const DatasetName& name, const std::string& prefix, TableInfo& table,
                 const LookAtColumn& look) {
  const std::string folder = name.path.ends_with('/') ? name.path : name.path + "/";
  for (const std::string& link : links_of(group)) {
    const Handle member(H5Oopen(group, link.c_str(), H5P_DEFAULT), H5Oclose);
    const H5I_type_t type = member >= 0 ? H5Iget_type(member) : H5I_BADID;
    if (type == H5I_DATASET && !is_null(member)) {
      Column column = inspect_column(member, {name.file, folder + link});
      column.name = prefix + link;
      table.columns.push_back(column);
      look(column, member);
    } else if (type == H5I_GROUP && prefix.empty() && is_column_of_parts(member)) {
      table.parts.push_back(link);
      add_members(member, {name.file, folder + link}, link + "/", table, look);
    } else if (link != schema::group) {
      table.left_out.push_back(prefix + link);
    }
  }
}

/// Adds the coordinates of the rows that are not among the columns.
void add_coordinates(hid_t file, const std::string& name, TableInfo& table) {
  std::vector<std::string> found;
  for (const Column& column : table.columns) {
    if (!column.has_scales || column.info.shape.empty()) continue;
    const Handle dataset = open_dataset(file, {name, column.path});
    for (std::string& path : row_coordinates(file, dataset)) found.push_back(std::move(path));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (const std::string& path : found) {
    if (std::ranges::find(table.columns, path, &Column::path) != table.columns.end()) continue;
    table.coordinates.push_back(inspect_column(open_dataset(file, {name, path}), {name, path}));
  }
}

}  // namespace

TableInfo inspect_table(const DatasetName& name, const LookAtColumn& look) {
  const Handle file = open_file(name.file);
  const Handle object(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose);
  TableInfo table;
  table.is_group = object >= 0 && H5Iget_type(object) == H5I_GROUP;
  if (table.is_group) {
    add_members(object, name, "", table, look);
  } else {
    const Handle dataset = open_dataset(file, name);
    table.columns.push_back(inspect_column(dataset, name));
    look(table.columns.front(), dataset);
    table.members = members_of(dataset, table.columns.front());
  }
  require(!table.columns.empty(), ExitCode::bad_data,
          fmt::format("the group {} holds no dataset; name a group of equally long datasets",
                      name.text()));
  add_coordinates(file, name.file, table);
  return table;
}

index_t TableInfo::rows() const {
  const auto first = std::ranges::find(columns, Column::Use::row, &Column::use);
  return first == columns.end() ? 0 : first->rows();
}

void require_table(const TableInfo& table, const DatasetName& name) {
  for (const Column& column : table.columns) {
    if (column.use != Column::Use::row) continue;
    require(!column.info.shape.empty(), ExitCode::bad_data,
            fmt::format("{}:{} is a scalar where a column is needed; give datasets with rows",
                        name.file, column.path));
    require_rows(column, table, name);
  }
}

void require_rows(const Column& column, const TableInfo& table, const DatasetName& name) {
  require(column.rows() == table.rows(), ExitCode::bad_data,
          fmt::format("the columns of {} differ in length (the table has {} rows, {} has {}); make "
                      "them equally long",
                      name.text(), table.rows(), column.name, column.rows()));
}

}  // namespace tessera::inline v1::io
