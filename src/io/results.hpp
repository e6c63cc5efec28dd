#pragma once
// Results: one group per run, in it tables as columns of equal length, readable by h5py, pandas and
// xarray.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::io {

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

/// Appends rows to the run's tables (created if missing) and sets the run's attributes, in a copy
/// that then replaces the file: readers see the file before or after, never between, and a kill
/// loses only this call. A lock file serialises concurrent jobs. Serial: rank 0 calls it. Throws
/// Error(io, cannot_create, bad_data); bad_data also if the file holds anything but results, as do
/// the functions below.
void append_results(const std::string& file, const std::string& run,
                    const std::map<std::string, Value>& attributes,
                    const std::vector<TableRows>& tables);

/// As above, for a new run; returns its name, "matmul_0001". The name is chosen under the lock, so
/// that concurrent jobs get different runs.
[[nodiscard]] std::string append_new_run(const std::string& file, const std::string& workload,
                                         const std::map<std::string, Value>& attributes,
                                         const std::vector<TableRows>& tables);

/// Throws Error(cannot_create) if nothing could be appended to the file, before there is anything
/// to append: its directory, or the one in which that would be created, is not writable. Writes
/// nothing.
void require_place_for_results(const std::string& file);

/// A run as stored in a file.
struct Run {
  std::string name;
  std::map<std::string, Value> attributes;
  std::vector<TableRows> tables;
};

/// Returns every run of a results file. Throws Error(bad_data, missing_input) for other files.
/// Serial.
[[nodiscard]] std::vector<Run> read_runs(const std::string& file);

/// Writes runs under their names, replacing existing ones. As append_results.
void replace_runs(const std::string& file, const std::vector<Run>& runs);

/// Returns a name for a new run of the workload that is not among `names`.
[[nodiscard]] std::string next_run_name(const std::vector<std::string>& names,
                                        const std::string& workload);

/// Returns the values of a text column of a table over all runs in the file; empty if the file does
/// not exist.
[[nodiscard]] std::vector<std::string> text_column(const std::string& file,
                                                   const std::string& table,
                                                   const std::string& column);

}  // namespace tessera::inline v1::io
