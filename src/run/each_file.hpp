#pragma once
// One command for many input files.

#include <string>
#include <vector>

#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Returns the request for each file that --in names, ordered by name. If its file has wildcards
/// (* and ?) and there is no file of that very name, they are the files that match, and {name}
/// in an option stands for the file's name without folder and ending. `outputs` are the options
/// with names of outputs: Throws Error(missing_input) if no file matches, Error(usage) if several
/// do and an output would be the same for two of them.
[[nodiscard]] std::vector<Parsed> each_file(const Parsed& parsed,
                                            const std::vector<std::string>& outputs);

/// Returns the request whose --in has the values of all of them: what a table of all has as
/// columns.
[[nodiscard]] Parsed all_files(const std::vector<Parsed>& each);

}  // namespace tessera::inline v1::run
