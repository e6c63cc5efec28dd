#pragma once
// Execution of other programs without a shell.

#include <optional>
#include <string>
#include <vector>

namespace tessera::apps {

/// Runs a program of the PATH with this process's input and output and waits for it. Returns its
/// exit code, 128 + the signal that ended it, or 127 if there is no such program.
[[nodiscard]] int run_program(std::vector<std::string> words);

/// Returns what a program of the PATH prints within some seconds, at most 64 KiB; nullopt if it
/// cannot be started.
[[nodiscard]] std::optional<std::string> output_of_program(std::vector<std::string> words);

/// Returns the path of this program.
[[nodiscard]] std::string own_program();
/// Returns the path of a file installed at `installed`, relative to the program's folder, or
/// located at `built` in the build tree.
[[nodiscard]] std::string installed_file(const std::string& installed, const std::string& built);

}  // namespace tessera::apps
