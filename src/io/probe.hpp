#pragma once
// A first look at an input by a child process with limits: a damaged file can crash or hang any HDF5 reader,
// and then it is the child that dies, and one clear message that comes out.

#include "io/columns.hpp"
#include "io/verify_file.hpp"

namespace tessera::io {

/// The hidden first argument by which the program calls itself as the prober.
inline constexpr const char* probe_command = "--probe-dataset";

/// What the dataset is; throws Error(missing_input, bad_data, usage). Where none has that very name and it
/// ends as a selection does ("/A[0:1000,50:]"), the selection is cut off the name's path. Spawns the running
/// program (which must hand `probe_command` to probe_main) with 10 s of processor time and 4 GiB of address
/// space; call it before MPI is initialised, or on a rank where creating processes is safe.
[[nodiscard]] DatasetInfo probe(DatasetName& name);

/// The same for a dataset or a group of columns.
[[nodiscard]] TableInfo probe_table(const DatasetName& name);

/// check_file in such a child, which may take as long as it gets on.
[[nodiscard]] FileCheck check_file_apart(const std::string& file);

/// Whether results can be read that are appended to; throws as probe().
void probe_results(const std::string& file);

/// Whether what stands under the name of an output can be looked at (io/standing.hpp); throws as probe().
void probe_output(const std::string& file);

/// The child's side: argv is program, probe_command, file, path, and for other than a dataset one more.
/// Returns its exit code.
[[nodiscard]] int probe_main(int argc, char** argv);

}  // namespace tessera::io
