#include "io/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tessera::io {
namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Names of the datasets directly in a group.
std::vector<std::string> dataset_names(hid_t group) {
  struct Found {
    hid_t group;
    std::vector<std::string> names;
  } found{group, {}};
  H5Literate(
      group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* link, const H5L_info_t*, void* data) -> herr_t {
        auto& into = *static_cast<Found*>(data);
        const Handle object(H5Oopen(into.group, link, H5P_DEFAULT), H5Oclose);
        if (object >= 0 && H5Iget_type(object) == H5I_DATASET) into.names.emplace_back(link);
        return 0;
      },
      &found);
  return found.names;
}

bool has_fixed_size(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  return H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_REFERENCE) == 0 &&
         H5Tis_variable_str(type) == 0;
}

Column inspect_column(hid_t file, const DatasetName& name) {
  const Handle dataset = open_dataset(file, name);
  require(has_fixed_size(dataset), ExitCode::bad_data,
          fmt::format("{} holds elements of variable length or references (they cannot be moved as bytes); "
                      "store them with a fixed size",
                      name.text()));
  return {last_part(name.path), name.path, inspect(dataset, name)};
}

void read_as(const DatasetName& name, layout::Range range, hid_t type, std::byte* to) {
  if (range.empty()) return;
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const Handle space(h5_check(H5Dget_space(dataset), ExitCode::bad_data, name.text()), H5Sclose);
  const Handle stored(H5Dget_type(dataset), H5Tclose);
  if (type < 0) type = stored;
  constexpr index_t piece_bytes = index_t{1}
                                  << 30;  // one call moves no more: larger ones have failed in HDF5
  const auto element_bytes = static_cast<index_t>(H5Tget_size(type));
  const index_t at_once = std::max<index_t>(1, piece_bytes / element_bytes);
  for (index_t begin = range.begin; begin < range.end; begin += at_once) {
    const auto start = static_cast<hsize_t>(begin);
    const auto count = static_cast<hsize_t>(std::min(at_once, range.end - begin));
    h5_check_rc(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &count, nullptr),
                ExitCode::bad_data, name.text());
    const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    h5_check_rc(H5Dread(dataset, type, memory, space, H5P_DEFAULT, to), ExitCode::bad_data,
                "cannot read " + name.text());
    to += static_cast<index_t>(count) * element_bytes;
  }
}

}  // namespace

TableInfo inspect_table(const DatasetName& name) {
  const Handle file = open_file(name.file);
  const Handle object(H5Oopen(file, name.path.c_str(), H5P_DEFAULT), H5Oclose);
  if (object < 0 || H5Iget_type(object) != H5I_GROUP) return {false, {inspect_column(file, name)}};
  TableInfo table{true, {}};
  const std::string folder = name.path.ends_with('/') ? name.path : name.path + "/";
  for (const std::string& column : dataset_names(object))
    table.columns.push_back(inspect_column(file, {name.file, folder + column}));
  require(
      !table.columns.empty(), ExitCode::bad_data,
      fmt::format("the group {} holds no dataset; name a group of equally long 1-D datasets", name.text()));
  return table;
}

std::string to_text(const TableInfo& table) {
  std::string text = fmt::format("{} {}\n", table.is_group ? 1 : 0, table.columns.size());
  for (const Column& column : table.columns) {
    const DatasetInfo& info = column.info;
    text += fmt::format("{} {} {} {}", static_cast<int>(info.kind), info.element_bytes,
                        info.is_signed ? 1 : 0, info.shape.size());
    for (const index_t extent : info.shape) text += fmt::format(" {}", extent);
    text += fmt::format(" {} {}\n", column.path.size(), column.path);
  }
  return text;
}

TableInfo parse_table(const std::string& text) {
  std::istringstream words(text);
  TableInfo table;
  std::size_t count = 0;
  words >> table.is_group >> count;
  for (std::size_t c = 0; c < count && words; ++c) {
    Column column;
    int kind = 0;
    std::size_t rank = 0, length = 0;
    words >> kind >> column.info.element_bytes >> column.info.is_signed >> rank;
    column.info.kind = static_cast<DatasetInfo::Kind>(kind);
    for (std::size_t d = 0; d < rank && words; ++d) words >> column.info.shape.emplace_back();
    words >> length;
    words.get();
    column.path.resize(words ? length : 0);
    words.read(column.path.data(), static_cast<std::streamsize>(column.path.size()));
    column.name = last_part(column.path);
    table.columns.push_back(std::move(column));
  }
  require(!words.fail() && !table.columns.empty(), ExitCode::internal,
          "the process that looks at the input gave no answer");
  return table;
}

void require_table(const TableInfo& table, const DatasetName& name) {
  for (const Column& column : table.columns) {
    require(column.info.shape.size() == 1, ExitCode::bad_data,
            fmt::format("{}:{} is {}-dimensional ({}) where a column is needed; give 1-D datasets", name.file,
                        column.path, column.info.shape.size(), column.info.shape_text()));
    require(
        column.info.shape == table.columns.front().info.shape, ExitCode::bad_data,
        fmt::format("the columns of {} differ in length ({} has {} rows, {} has {}); make them equally long",
                    name.text(), table.columns.front().name, table.columns.front().info.shape_text(),
                    column.name, column.info.shape_text()));
  }
}

Element element_of_numbers(const Column& column, const std::string& file) {
  const DatasetInfo& info = column.info;
  require(info.is_number() && info.element_bytes <= 8, ExitCode::bad_data,
          fmt::format("{}:{} holds elements of {}; numbers of at most 64 bits can be sorted", file,
                      column.path, info.type_text()));
  const bool wide = info.element_bytes > 4;
  if (info.kind == DatasetInfo::Kind::real) return wide ? Element::f64 : Element::f32;
  if (info.is_signed) return wide ? Element::i64 : Element::i32;
  return wide ? Element::u64 : Element::u32;
}

void read_range(const DatasetName& name, layout::Range range, Element element, std::byte* to) {
  read_as(name, range, native_type(element), to);
}

void read_stored(const DatasetName& name, layout::Range range, std::byte* to) {
  read_as(name, range, -1, to);
}

}  // namespace tessera::io
