#pragma once
// The user's choice among the columns of a table.

#include <string>
#include <vector>

#include "io/columns.hpp"

namespace tessera::io {

struct TableChoice {
  std::vector<std::string> columns = {};  ///< those to carry; empty: all
  std::vector<std::string> drop = {};     ///< those to omit
  std::string by = {};                    ///< --by, whose first column tells the rows of the table
};

/// Sets the use of each column: rows by the choice, other lengths unchanged. Throws Error(usage)
/// for unknown columns or a choice among the members of a dataset, Error(bad_data) if elements of a
/// column to carry have an obstacle.
void choose_columns(TableInfo& table, const DatasetName& name, const TableChoice& choice);

/// Returns a note about the columns that are copied unchanged; empty if there are none.
[[nodiscard]] std::string note_of_unchanged(const TableInfo& table, const DatasetName& name);

}  // namespace tessera::io
