#pragma once
// 1-D datasets, alone or as the columns of a table: a group whose datasets have one length.

#include <span>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::io {

struct Column {
  std::string name;  ///< the last part of the path
  std::string path;
  DatasetInfo info;
};

/// What a name stands for: one column for a dataset, all columns of a group in the order of their names
/// (groups inside are left out). Throws Error(missing_input, bad_data).
struct TableInfo {
  bool is_group = false;
  std::vector<Column> columns;
  [[nodiscard]] index_t rows() const { return columns.front().info.shape[0]; }
};
[[nodiscard]] TableInfo inspect_table(const DatasetName& name);

/// The table as text and back, for other processes.
[[nodiscard]] std::string to_text(const TableInfo& table);
[[nodiscard]] TableInfo parse_table(const std::string& text);

/// Throws Error(bad_data) unless all columns are 1-D and equally long, of elements of a fixed size.
void require_table(const TableInfo& table, const DatasetName& name);
/// The narrowest element that holds every value of the column; throws Error(bad_data) when there is none.
[[nodiscard]] Element element_of_numbers(const Column& column, const std::string& file);

/// to[0 : range.size()] = elements of a 1-D dataset, converted to the element type whatever number type, byte
/// order, chunking or filter they are stored in.
void read_range(const DatasetName& name, layout::Range range, Element element, std::byte* to);
/// The same as they are stored.
void read_stored(const DatasetName& name, layout::Range range, std::byte* to);

}  // namespace tessera::io
