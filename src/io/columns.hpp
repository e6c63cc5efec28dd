#pragma once
// Datasets as columns: single ones, those of a table (a group of datasets with equally many rows),
// or the members of a compound one.

#include <functional>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

struct Column {
  /// The comparison of rows.
  enum class Key {
    number,  ///< an integer (including enumerations) or real number
    text,    ///< a string
    bytes,   ///< ordered by bytes only
  };
  std::string name;         ///< last part of the path, or name of the member
  std::string path;         ///< path of the dataset
  std::string member = {};  ///< member of a compound dataset; empty: whole elements
  DatasetInfo info;         ///< shape of the dataset, type of the member
  Key key = Key::number;
  /// The treatment of the column when rows are reordered.
  enum class Use {
    row,        ///< its rows are reordered
    unchanged,  ///< it has other rows, and is copied as it is
    omitted,    ///< by the user's choice
    across,     ///< the rows are along another dimension of it, too: it is left out
  };
  Use use = Use::row;
  bool has_scales = false;  ///< it has dimension scales or coordinates, or is a scale
  std::string obstacle =
      {};  ///< the reason why its elements cannot be copied to another file; empty: none

  [[nodiscard]] index_t rows() const { return info.shape.empty() ? 1 : info.shape[0]; }
  /// Returns whether rows are strings of variable length.
  [[nodiscard]] bool holds_texts() const {
    return key == Key::text && !info.self_contained && info.shape.size() == 1;
  }
  /// Returns the bytes of a row: of one element if the dataset is 1-D.
  [[nodiscard]] index_t row_bytes() const;
};

/// The columns of a dataset (one) or of a group (all, in the order of their creation if the group
/// tracks it, otherwise of their names). inspect_table throws Error(missing_input, bad_data).
struct TableInfo {
  bool is_group = false;
  std::vector<Column> columns;
  std::vector<Column> members = {};  ///< if the dataset is compound
  std::vector<std::string> left_out =
      {};  ///< members of the group that are no datasets with elements: groups, dangling links
  std::vector<std::string> parts = {};   ///< members that are columns of several datasets
  std::vector<Column> coordinates = {};  ///< of the rows, in other groups
  [[nodiscard]] index_t rows() const;    ///< of the columns that are reordered
};
/// Called by inspect_table with each column's dataset, which is opened once.
using LookAtColumn = std::function<void(const Column& column, hid_t dataset)>;
[[nodiscard]] TableInfo inspect_table(
    const DatasetName& name, const LookAtColumn& look = [](const Column&, hid_t) {});

/// Convert a table to text and back, for other processes.
[[nodiscard]] std::string to_text(const TableInfo& table);
[[nodiscard]] TableInfo parse_table(const std::string& text);

/// Throws Error(bad_data) unless all columns that are reordered have rows, and equally many.
void require_table(const TableInfo& table, const DatasetName& name);
/// Throws Error(bad_data) unless a column has the rows of the table.
void require_rows(const Column& column, const TableInfo& table, const DatasetName& name);
/// Returns the narrowest element type that holds every value of the column. Throws Error(bad_data)
/// if none does.
[[nodiscard]] Element element_of_numbers(const Column& column, const std::string& file);

/// Reads numbers into to[0 : rows.size()], converted to the element type from any number type, byte
/// order, chunking and filter.
void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to);
/// As above, in steps of `at_once` rows; calls `arrived` with the rows of each step.
void read_numbers(const std::string& file, const Column& column, layout::Range rows,
                  Element element, std::byte* to, index_t at_once,
                  const std::function<void(layout::Range)>& arrived);
/// Reads these bytes of every row into to[0 : rows.size(), 0 : bytes.size()]; strings, also of
/// variable length, are padded with zeros, however they are stored.
void read_bytes(const std::string& file, const Column& column, layout::Range rows,
                layout::Range bytes, std::byte* to);
/// Returns the bytes of the longest of these strings of variable length.
[[nodiscard]] index_t longest_text(const std::string& file, const Column& column,
                                   layout::Range rows);
/// Reads rows as they are stored into to[0 : rows.size(), 0 : row_bytes].
void read_stored(const std::string& file, const Column& column, layout::Range rows, std::byte* to);

}  // namespace tessera::inline v1::io
