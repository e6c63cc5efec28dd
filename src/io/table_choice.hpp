#pragma once
// The user's choice among the columns of a table.

#include <string>
#include <vector>

#include "io/columns.hpp"

namespace tessera::inline v1::io {

struct TableChoice {
  std::vector<std::string> columns = {};  ///< those to carry; empty: all
  std::vector<std::string> drop = {};     ///< those to omit
  std::string by = {};                    ///< --by, whose first column tells the rows of the table
};

/// Sets the use of columns and coordinates by the dimension scales of the first key of --by: those
/// along another dimension are unchanged, those that have the rows along another dimension than
/// their first are left out. Throws Error(bad_data). Serial.
void compare_dimensions(TableInfo& table, const DatasetName& name, const std::string& by);

/// Sets the use of each column that is still to be reordered: rows by the choice, other lengths
/// unchanged. Throws Error(usage)
/// for unknown columns or a choice among the members of a dataset, Error(bad_data) if elements of a
/// column to carry have an obstacle.
void choose_columns(TableInfo& table, const DatasetName& name, const TableChoice& choice);

/// Returns a note about the columns that are copied unchanged or left out by choose_columns(), not
/// by the user; empty if there are none.
[[nodiscard]] std::string note_of_others(const TableInfo& table, const DatasetName& name);

}  // namespace tessera::inline v1::io
