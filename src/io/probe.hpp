#pragma once
// Examination of inputs in a separate process: a damaged file can crash or hang any HDF5 reader;
// then only that process dies, and the user gets one clear message.
//
// The process is the program `tessera-examine`. It links only HDF5, so that it contains nothing
// that other libraries start or reserve per core and device. It is searched for next to the running
// program, as installed and as built, then in PATH; if it is not found, the functions below throw
// Error(internal).

#include "io/columns.hpp"
#include "io/verify_file.hpp"

namespace tessera::inline v1::io {

inline constexpr const char* examiner_name = "tessera-examine";

/// While it lives, one such process examines all inputs, each in a copy of itself, because starting
/// the program takes longer than the examination. Not for threads.
class SharedExaminer {
 public:
  SharedExaminer();
  ~SharedExaminer();
  SharedExaminer(const SharedExaminer&) = delete;
  SharedExaminer& operator=(const SharedExaminer&) = delete;
};

/// Returns the description of a dataset. If no object has exactly this name and it ends like a
/// selection ("/A[0:1000,50:]"), the selection moves from the name's path to name.selection. The
/// limits are those of examine.hpp. Throws Error(missing_input, bad_data, usage, io), and
/// Error(memory) if a limit of the user or the machine ends the examination. To be called before
/// MPI is initialised, or on a rank that can safely create processes.
[[nodiscard]] DatasetInfo probe(DatasetName& name);

/// Parses the answer of the examining process; a selection that it reports moves from the name's
/// path to name.selection.
[[nodiscard]] DatasetInfo parse_dataset(const std::string& answer, DatasetName& name);

/// As probe(), for a dataset or a group of columns.
[[nodiscard]] TableInfo probe_table(const DatasetName& name);

/// Runs check_file in such a process, for as long as that makes progress.
[[nodiscard]] FileCheck check_file_apart(const std::string& file);

/// Returns contents_of() (io/contents.hpp), from such a process.
[[nodiscard]] std::string probe_contents(const DatasetName& name);

/// Throws as probe() unless the results, to which rows will be appended, can be read.
void probe_results(const std::string& file);

/// Throws as probe() unless an existing file at an output's path can be examined (io/occupant.hpp).
void probe_output(const std::string& file);

}  // namespace tessera::inline v1::io
