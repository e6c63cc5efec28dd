// Reads of columns. Apart from columns.cpp, because tessera-examine must not link what decodes
// chunks on threads.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/option_names.hpp"
#include "io/columns.hpp"
#include "io/pieces.hpp"

namespace tessera::inline v1::io {
namespace {

using Key = Column::Key;

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
                      "of fixed length; pass {}0:{}, of a column {}[0:{}], to compare rows byte "
                      "by byte (not the order of little-endian numbers)",
                      file, column.path, info.type_text(), option_or("--by ", "the bytes "),
                      column.row_bytes(), column.name, column.row_bytes()));
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

namespace {

/// Calls body(i, text) for rows[i], i in [0, rows.size()), of strings of variable length; a null
/// string is empty.
void for_each_text(const std::string& file, const Column& column, layout::Range rows,
                   const std::function<void(index_t, std::string_view)>& body) {
  constexpr index_t at_once = index_t{1} << 16;
  RowReader reader(file, column);
  const Handle text = reader.stored_type(),
               type = as_member(column, Handle(H5Tcopy(text), H5Tclose));
  for (index_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const layout::Range some{begin, std::min(begin + at_once, rows.end)};
    std::vector<char*> texts(static_cast<std::size_t>(some.size()), nullptr);
    reader.read(some, type, reinterpret_cast<std::byte*>(texts.data()));
    for (index_t i = 0; i < some.size(); ++i) {
      char* const one = texts[static_cast<std::size_t>(i)];
      body(begin - rows.begin + i, one == nullptr ? "" : one);
      H5free_memory(one);
    }
  }
}

}  // namespace

index_t longest_text(const std::string& file, const Column& column, layout::Range rows) {
  index_t longest = 0;
  for_each_text(file, column, rows,
                [&](index_t, std::string_view text) { longest = std::max(longest, ssize(text)); });
  return longest;
}

void read_bytes(const std::string& file, const Column& column, layout::Range rows,
                layout::Range bytes, std::byte* to) {
  if (rows.empty() || bytes.empty()) return;
  if (column.holds_texts()) {
    std::fill_n(to, rows.size() * bytes.size(), std::byte{});
    for_each_text(file, column, rows, [&](index_t i, std::string_view text) {
      const auto from = std::min(text.size(), static_cast<std::size_t>(bytes.begin));
      text = text.substr(from, static_cast<std::size_t>(bytes.size()));
      std::memcpy(to + i * bytes.size(), text.data(), text.size());
    });
    return;
  }
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

}  // namespace tessera::inline v1::io
