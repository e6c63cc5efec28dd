#include "io/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "io/pieces.hpp"
#include "io/schema.hpp"
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

Column inspect_column(hid_t dataset, const DatasetName& name) {
  Column column{.name = last_part(name.path), .path = name.path, .info = inspect(dataset, name)};
  require(column.info.self_contained, ExitCode::bad_data,
          fmt::format(
              "{} holds elements of variable length or references (they cannot be moved as bytes); "
              "store them with a fixed size",
              name.text()));
  describe(Handle(H5Dget_type(dataset), H5Tclose), column);
  return column;
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
    describe(Handle(H5Tget_member_type(type, m), H5Tclose), column);
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

std::string text_of(const std::string& word) { return fmt::format(" {} {}", word.size(), word); }

std::string line_of(const Column& column) {
  const DatasetInfo& info = column.info;
  std::string line =
      fmt::format("{} {} {} {} {}", static_cast<int>(column.key), static_cast<int>(info.kind),
                  info.element_bytes, info.is_signed ? 1 : 0, info.shape.size());
  for (const index_t extent : info.shape) line += fmt::format(" {}", extent);
  line += fmt::format(" {}", info.chunk.size());
  for (const index_t extent : info.chunk) line += fmt::format(" {}", extent);
  for (const std::string* word : {&column.path, &column.member, &info.other})
    line += text_of(*word);
  return line + "\n";
}

std::string parse_text(std::istringstream& words) {
  std::size_t length = 0;
  words >> length;
  words.get();
  std::string text(words ? length : 0, '\0');
  words.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

Column parse_column(std::istringstream& words) {
  Column column;
  int key = 0, kind = 0;
  std::size_t rank = 0;
  words >> key >> kind >> column.info.element_bytes >> column.info.is_signed >> rank;
  column.key = static_cast<Key>(key);
  column.info.kind = static_cast<DatasetInfo::Kind>(kind);
  for (std::size_t d = 0; d < rank && words; ++d) words >> column.info.shape.emplace_back();
  words >> rank;
  for (std::size_t d = 0; d < rank && words; ++d) words >> column.info.chunk.emplace_back();
  for (std::string* word : {&column.path, &column.member, &column.info.other})
    *word = parse_text(words);
  column.name = column.member.empty() ? last_part(column.path) : column.member;
  return column;
}

}  // namespace

index_t Column::row_bytes() const {
  index_t bytes = info.element_bytes;
  for (std::size_t d = 1; d < info.shape.size(); ++d)
    bytes = checked_mul(bytes, info.shape[d], "a row");
  return bytes;
}

TableInfo inspect_table(const DatasetName& name, const LookAtColumn& look) {
  const Handle file = open_file(name.file);
  const Handle object(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose);
  if (object < 0 || H5Iget_type(object) != H5I_GROUP) {
    const Handle dataset = open_dataset(file, name);
    const Column whole = inspect_column(dataset, name);
    look(whole, dataset);
    return {false, {whole}, members_of(dataset, whole), {}};
  }
  TableInfo table{true, {}, {}, {}};
  const std::string folder = name.path.ends_with('/') ? name.path : name.path + "/";
  for (const std::string& link : names_in(object)) {
    const Handle member(H5Oopen(object, link.c_str(), H5P_DEFAULT), H5Oclose);
    if (member >= 0 && H5Iget_type(member) == H5I_DATASET) {
      table.columns.push_back(inspect_column(member, {name.file, folder + link}));
      look(table.columns.back(), member);
    } else if (link != schema::group) {
      table.left_out.push_back(link);
    }
  }
  require(!table.columns.empty(), ExitCode::bad_data,
          fmt::format("the group {} holds no dataset; name a group of equally long datasets",
                      name.text()));
  return table;
}

std::string to_text(const TableInfo& table) {
  std::string text = fmt::format("{} {} {} {}\n", table.is_group ? 1 : 0, table.columns.size(),
                                 table.members.size(), table.left_out.size());
  for (const Column& column : table.columns) text += line_of(column);
  for (const Column& column : table.members) text += line_of(column);
  for (const std::string& name : table.left_out) text += text_of(name);
  return text;
}

TableInfo parse_table(const std::string& text) {
  std::istringstream words(text);
  TableInfo table;
  std::size_t columns = 0, members = 0, others = 0;
  words >> table.is_group >> columns >> members >> others;
  for (std::size_t c = 0; c < columns && words; ++c) table.columns.push_back(parse_column(words));
  for (std::size_t c = 0; c < members && words; ++c) table.members.push_back(parse_column(words));
  for (std::size_t c = 0; c < others && words; ++c) table.left_out.push_back(parse_text(words));
  require(!words.fail() && !table.columns.empty(), ExitCode::internal,
          "process that examines the input sent no result");
  return table;
}

void require_table(const TableInfo& table, const DatasetName& name) {
  for (const Column& column : table.columns) {
    require(!column.info.shape.empty(), ExitCode::bad_data,
            fmt::format("{}:{} is a scalar where a column is needed; give datasets with rows",
                        name.file, column.path));
    require(column.rows() == table.rows(), ExitCode::bad_data,
            fmt::format("the columns of {} differ in length ({} has {} rows, {} has {}); make them "
                        "equally long",
                        name.text(), table.columns.front().name, table.rows(), column.name,
                        column.rows()));
  }
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
