#pragma once
// Other programs, without a shell between.

#include <string>
#include <vector>

namespace tessera::apps {

/// Runs a program of the PATH with our input and output and waits for it: its exit code, 128 + the
/// signal that ended it, or 127 where there is no such program.
[[nodiscard]] int run_program(std::vector<std::string> words);

/// This very program.
[[nodiscard]] std::string own_program();
/// A file that is installed at `installed`, relative to the program's folder, and lies at `built`
/// in the tree.
[[nodiscard]] std::string installed_file(const std::string& installed, const std::string& built);

}  // namespace tessera::apps
