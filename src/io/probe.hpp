#pragma once
// A first look at an input by a process of its own: a damaged file can crash or hang any HDF5
// reader, and then it is that process that dies, and one clear message that comes out.
//
// The process is the program `tessera-examine`. It links HDF5 alone: what other libraries start or
// reserve for every core and every device is not in it. It is looked for beside the program that
// runs, as installed and as built, then in the folders of PATH; where it is not there, what is
// below throws Error(internal).

#include "io/columns.hpp"
#include "io/verify_file.hpp"

namespace tessera::io {

inline constexpr const char* examiner_name = "tessera-examine";

/// What the dataset is; throws Error(missing_input, bad_data, usage), and Error(memory) where a
/// limit of the user's or the machine's ends the look. Where none has that very name and it ends as
/// a selection does
/// ("/A[0:1000,50:]"), the selection is cut off the name's path. What a look may take stands in
/// examine.hpp. Call it before MPI is initialised, or on a rank where creating processes is safe.
[[nodiscard]] DatasetInfo probe(DatasetName& name);

/// Reads the answer of the examining process, and cuts the selection off the name's path where it
/// tells of one.
[[nodiscard]] DatasetInfo parse_dataset(const std::string& answer, DatasetName& name);

/// As probe(), of a dataset or a group of columns.
[[nodiscard]] TableInfo probe_table(const DatasetName& name);

/// check_file in such a process, which may take as long as it gets on.
[[nodiscard]] FileCheck check_file_apart(const std::string& file);

/// Whether results can be read that are appended to; throws as probe().
void probe_results(const std::string& file);

/// Whether what stands under the name of an output can be looked at (io/standing.hpp); throws as
/// probe().
void probe_output(const std::string& file);

}  // namespace tessera::io
