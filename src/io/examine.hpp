#pragma once
// The examining process: reads samples of a file that may be damaged, within limits, and reports
// the result.

#include "base/index.hpp"

namespace tessera::inline v1::io {

/// Kinds of examinations.
inline constexpr const char* as_dataset = "dataset";
inline constexpr const char* as_table = "table";
inline constexpr const char* as_checksums = "checksums";
inline constexpr const char* as_results = "results";
inline constexpr const char* as_output = "output";
inline constexpr const char* as_contents = "contents";

/// Limits of one step of an examination.
struct ReadLimits {
  double seconds = 0;        ///< of processor time, of the thread that reads
  index_t memory_bytes = 0;  ///< resident, beyond what the process held when it began
};

/// Returns 10 s and 4 GiB plus, for a step that reads `bytes` (bytes_to_read), a second per 16 MiB
/// and four times their memory: the filters of a chunk hold it several times.
[[nodiscard]] ReadLimits allowance_of(index_t bytes);

/// Argument of the program with which it serves many examinations.
inline constexpr const char* to_serve = "serve";

/// Runs the examining program: argv is its name, a kind of examination, a file, and a path in it.
/// Prints the answer for probe.cpp, or an error message, and returns the exit code. A step that
/// exceeds its allowance ends the process with the code of Error(bad_data) and a message that does
/// not call the file damaged. With `to_serve` alone it takes requests from the standard input until
/// that ends: kind, file and path, each with a NUL behind it. A copy of the process examines each.
/// The answer is the process number of the copy and a line feed, what it prints, NUL, its status as
/// waitpid() returns it, and a line feed.
[[nodiscard]] int examine_main(int argc, char** argv);

}  // namespace tessera::inline v1::io
