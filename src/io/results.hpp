#pragma once
// Results: one group a run, inside it tables as columns of equal length, read alike by h5py, pandas
// and xarray.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/index.hpp"

namespace tessera::io {

using Value = std::variant<index_t, double, std::string>;

struct Cell {
  std::string column;
  Value value;
  std::string units = {};  ///< "s", "B", "GFLOP/s", "" for none
};
/// A row of a table; all rows of a table have the same columns of the same types.
using Row = std::vector<Cell>;

struct TableRows {
  std::string table;  ///< a name of io/schema.hpp
  std::vector<Row> rows;
};

/// Appends rows to the run's tables (made where missing) and sets the run's attributes, in a copy
/// that then replaces the file: a reader sees the file before or after, never between, and a kill
/// loses only this call. A lock beside the file keeps two jobs apart. Serial: rank 0 calls it.
/// Throws Error(io, cannot_create, bad_data); the last also where the file holds something else
/// than results, as the functions below do.
void append_results(const std::string& file, const std::string& run,
                    const std::map<std::string, Value>& attributes,
                    const std::vector<TableRows>& tables);

/// The same for a run that the file does not hold yet: returns the name it got, "matmul_0001". It
/// is chosen under the lock: of two jobs at once each has a run of its own.
[[nodiscard]] std::string append_new_run(const std::string& file, const std::string& workload,
                                         const std::map<std::string, Value>& attributes,
                                         const std::vector<TableRows>& tables);

/// Throws Error(cannot_create) where nothing could be appended to the file, before there is
/// anything to append: its folder, or the one in which that would be made, takes no files. Writes
/// nothing.
void require_place_for_results(const std::string& file);

/// A run as it stands in a file.
struct Run {
  std::string name;
  std::map<std::string, Value> attributes;
  std::vector<TableRows> tables;
};

/// Every run of a results file. Serial; throws Error(bad_data, missing_input) on what is no such
/// file.
[[nodiscard]] std::vector<Run> read_runs(const std::string& file);

/// Writes runs under their names, in the place of those that have them. As append_results.
void replace_runs(const std::string& file, const std::vector<Run>& runs);

/// A name for a new run of the workload beside runs of these names.
[[nodiscard]] std::string next_run_name(const std::vector<std::string>& names,
                                        const std::string& workload);

/// The values of a text column of a table over all runs in the file, empty when there is no file.
[[nodiscard]] std::vector<std::string> text_column(const std::string& file,
                                                   const std::string& table,
                                                   const std::string& column);

}  // namespace tessera::io
