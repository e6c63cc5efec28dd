#pragma once
// Reads files as the program does, in forked processes.

#include <functional>
#include <string>

namespace tessera::fuzz {

/// Answers about a file as the examining program does ("probe", "probe_table", "probe_checksums",
/// "probe_results", "probe_output"), or reads it as the ranks do after a good answer ("dataset",
/// "table", "verify", "results"). Prints the answer or the error, and returns the exit code.
[[nodiscard]] int answer(const std::string& how, const std::string& file, const std::string& path);

/// Outcome of a process.
struct Ending {
  int code = 0;  ///< negative signal number if a signal ended it
  std::string words;
  bool in_time = true;
};

/// Runs the work in a fork of this process.
[[nodiscard]] Ending apart(const std::function<int()>& work);

}  // namespace tessera::fuzz
