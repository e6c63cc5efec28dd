#pragma once
// Datasets as columns: alone, as those of a table (a group whose datasets have as many rows), or
// the members of a compound one.

#include <functional>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::io {

struct Column {
  /// How its rows can be compared.
  enum class Key {
    number,  ///< an integer (also an enumeration) or real number
    text,    ///< a string of fixed length
    bytes,   ///< no order but that of its bytes
  };
  std::string name;         ///< the last part of the path, or the member's name
  std::string path;         ///< of the dataset
  std::string member = {};  ///< of a compound dataset; empty: whole elements
  DatasetInfo info;         ///< the dataset's shape, the member's type
  Key key = Key::number;

  [[nodiscard]] index_t rows() const { return info.shape.empty() ? 1 : info.shape[0]; }
  /// Bytes of a row: an element where the dataset is 1-D.
  [[nodiscard]] index_t row_bytes() const;
};

/// What a name stands for: one column for a dataset, all columns of a group in the order of their
/// names. Throws Error(missing_input, bad_data).
struct TableInfo {
  bool is_group = false;
  std::vector<Column> columns;
  std::vector<Column> members = {};  ///< where the dataset is compound
  std::vector<std::string> left_out =
      {};  ///< in the group, and no dataset: groups, links to nothing
  [[nodiscard]] index_t rows() const { return columns.front().rows(); }
};
/// `look` is called with each column's dataset, which is opened once.
using LookAtColumn = std::function<void(const Column& column, hid_t dataset)>;
[[nodiscard]] TableInfo inspect_table(
    const DatasetName& name, const LookAtColumn& look = [](const Column&, hid_t) {});

/// The table as text and back, for other processes.
[[nodiscard]] std::string to_text(const TableInfo& table);
[[nodiscard]] TableInfo parse_table(const std::string& text);

/// Throws Error(bad_data) unless all columns have rows, and equally many of them.
void require_table(const TableInfo& table, const DatasetName& name);
/// The narrowest element that holds every value of the column; throws Error(bad_data) when there is
/// none.
[[nodiscard]] Element element_of_numbers(const Column& column, const std::string& file);

/// to[0 : rows.size()] = numbers, converted to the element type whatever number type, byte order,
/// chunking or filter they are stored in.
void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to);
/// The same, `at_once` rows after the other; `arrived` is told of the rows that are there.
void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to, index_t at_once,
                  const std::function<void(layout::Range)>& arrived);
/// to[0 : rows.size(), 0 : bytes.size()] = those bytes of every row; strings are padded with zeros,
/// however they are stored.
void read_bytes(const std::string& file, const Column& column, layout::Range rows,
                layout::Range bytes, std::byte* to);
/// to[0 : rows.size(), 0 : row_bytes] = rows as they are stored.
void read_stored(const std::string& file, const Column& column, layout::Range rows, std::byte* to);

}  // namespace tessera::io
