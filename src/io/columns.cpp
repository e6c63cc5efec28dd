#include "io/columns.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>

#include "io/content.hpp"
#include "io/coordinates.hpp"
#include "io/pieces.hpp"
#include "io/references.hpp"
#include "io/schema.hpp"
#include "io/text_attribute.hpp"
#include "io/type_name.hpp"

namespace tessera::io {
namespace {

using Key = Column::Key;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns the names of the direct members of a group.
std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  H5Literate(
      group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* link, const H5L_info_t*, void* into) -> herr_t {
        static_cast<std::vector<std::string>*>(into)->emplace_back(link);
        return 0;
      },
      &names);
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

/// Returns the memory type of a column: the type itself, or for a member a compound of this member
/// only.
Handle as_member(const Column& column, Handle type) {
  if (column.member.empty()) return type;
  Handle compound(
      h5_check(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)), ExitCode::internal, "H5Tcreate"),
      H5Tclose);
  h5_check_rc(H5Tinsert(compound, column.member.c_str(), 0, type), ExitCode::internal, "H5Tinsert");
  return compound;
}

Handle type_of_column(hid_t dataset, const Column& column) {
  Handle type(H5Dget_type(dataset), H5Tclose);
  if (column.member.empty()) return type;
  const int member = H5Tget_member_index(type, column.member.c_str());
  return {h5_check(H5Tget_member_type(type, static_cast<unsigned>(member)), ExitCode::bad_data,
                   column.path),
          H5Tclose};
}

/// Returns the same string type padded with zeros; the library converts other terminations to it.
Handle zero_padded(Handle type) {
  if (H5Tget_class(type) != H5T_STRING) return type;
  Handle padded(H5Tcopy(type), H5Tclose);
  H5Tset_strpad(padded, H5T_STR_NULLPAD);
  return padded;
}

/// Reads rows of a dataset, which stays open for the reader's lifetime.
class RowReader {
 public:
  RowReader(const std::string& file, const Column& column)
      : name_{file, column.path},
        column_(column),
        file_(open_file(file)),
        dataset_(open_dataset(file_, name_)),
        extents_(column.info.shape) {
    for (const index_t extent : extents_) box_.push_back({0, extent});
  }

  [[nodiscard]] Handle stored_type() const { return type_of_column(dataset_, column_); }

  void read(layout::Range rows, hid_t type, std::byte* to) {
    box_[0] = rows;
    extents_[0] = rows.size();
    read_pieces(dataset_, name_.text(), box_,
                {type, to, static_cast<index_t>(H5Tget_size(type)), extents_});
  }

 private:
  DatasetName name_;
  const Column& column_;
  Handle file_, dataset_;
  std::vector<index_t> extents_;
  Ranges box_;
};

}  // namespace

index_t Column::row_bytes() const {
  index_t bytes = info.element_bytes;
  for (std::size_t d = 1; d < info.shape.size(); ++d)
    bytes = checked_mul(bytes, info.shape[d], "a row");
  return bytes;
}

namespace {

/// Adds the datasets of a group, with `prefix` before their names.
void add_members(hid_t group, const DatasetName& name, const std::string& prefix, TableInfo& table,
                 const LookAtColumn& look) {
  const std::string folder = name.path.ends_with('/') ? name.path : name.path + "/";
  for (const std::string& link : names_in(group)) {
    const Handle member(H5Oopen(group, link.c_str(), H5P_DEFAULT), H5Oclose);
    const H5I_type_t type = member >= 0 ? H5Iget_type(member) : H5I_BADID;
    if (type == H5I_DATASET) {
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

namespace {

/// Returns whether a float with `fraction` bits of fraction and values from 2^least to 2^most holds
/// all values of the stored type.
bool holds_floats(hid_t stored, long fraction, long least, long most) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, bits = 0;
  if (H5Tget_fields(stored, &sign, &exponent, &exponent_bits, &mantissa, &bits) < 0 ||
      exponent_bits > 15)
    return false;
  const long digits = static_cast<long>(bits) - (H5Tget_norm(stored) == H5T_NORM_IMPLIED ? 0 : 1);
  const long bias = static_cast<long>(H5Tget_ebias(stored)),
             greatest = (1L << exponent_bits) - 2 - bias;
  return digits <= fraction && 1 - bias - digits >= least && greatest <= most;
}

Element element_of_floats(const Column& column, const std::string& file) {
  const DatasetName name{file, column.path};
  const Handle opened = open_file(file), dataset = open_dataset(opened, name);
  const Handle type = type_of_column(dataset, column);
  if (holds_floats(type, 23, -149, 127)) return Element::f32;
  require(holds_floats(type, 52, -1074, 1023), ExitCode::bad_data,
          fmt::format("{} holds floats that f64 cannot represent; store them in another type",
                      name.text()));
  return Element::f64;
}

}  // namespace

Element element_of_numbers(const Column& column, const std::string& file) {
  const DatasetInfo& info = column.info;
  require(column.key == Key::number && info.element_bytes <= 8, ExitCode::bad_data,
          fmt::format("{}:{} holds elements of {}: keys are numbers of at most 64 bits or strings "
                      "of fixed length; pass --by 0:{}, of a column {}[0:{}], to compare rows byte "
                      "by byte (not the order of little-endian numbers)",
                      file, column.path, info.type_text(), column.row_bytes(), column.name,
                      column.row_bytes()));
  require(
      info.shape.size() == 1, ExitCode::bad_data,
      fmt::format("{}:{} is {}-dimensional ({}) where a key column is needed; give 1-D datasets{}",
                  file, column.path, info.shape.size(), info.shape_text(),
                  info.element_bytes == 1 ? ", or name bytes of its rows (--by 0:8)" : ""));
  const bool wide = info.element_bytes > 4;
  if (info.kind == DatasetInfo::Kind::real) return element_of_floats(column, file);
  if (info.is_signed) return wide ? Element::i64 : Element::i32;
  return wide ? Element::u64 : Element::u32;
}

void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to) {
  if (rows.empty()) return;
  RowReader(file, column).read(rows, as_member(column, owned_type(element)), to);
}

void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to, index_t at_once,
                  const std::function<void(layout::Range)>& arrived) {
  if (rows.empty()) return;
  RowReader reader(file, column);
  const Handle type = as_member(column, owned_type(element));
  for (index_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const layout::Range some{begin, std::min(rows.end, begin + at_once)};
    reader.read(some, type, to + (begin - rows.begin) * static_cast<index_t>(bytes(element)));
    arrived(some);
  }
}

void read_stored(const std::string& file, const Column& column, layout::Range rows, std::byte* to) {
  if (rows.empty() || column.row_bytes() == 0) return;
  RowReader reader(file, column);
  reader.read(rows, as_member(column, reader.stored_type()), to);
}

void read_bytes(const std::string& file, const Column& column, layout::Range rows,
                layout::Range bytes, std::byte* to) {
  if (rows.empty() || bytes.empty()) return;
  RowReader reader(file, column);
  const Handle type = as_member(column, zero_padded(reader.stored_type()));
  const index_t row_bytes = column.row_bytes();
  if (bytes == layout::Range{0, row_bytes}) {
    reader.read(rows, type, to);
    return;
  }
  constexpr index_t piece_bytes = index_t{16} << 20;  // staging buffer of whole rows
  const index_t at_once = std::max<index_t>(1, piece_bytes / row_bytes);
  std::vector<std::byte> whole(
      static_cast<std::size_t>(std::min(at_once, rows.size()) * row_bytes));
  for (index_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const layout::Range some{begin, std::min(begin + at_once, rows.end)};
    reader.read(some, type, whole.data());
    for (index_t i = 0; i < some.size(); ++i, to += bytes.size())
      std::memcpy(to, whole.data() + i * row_bytes + bytes.begin,
                  static_cast<std::size_t>(bytes.size()));
  }
}

}  // namespace tessera::io
