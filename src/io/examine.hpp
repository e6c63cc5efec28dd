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

/// Runs the examining program: argv is its name, a kind of examination, a file, and a path in it.
/// Prints the answer for probe.cpp, or an error message, and returns the exit code. A step that
/// exceeds its allowance ends the process with the code of Error(bad_data) and a message that does
/// not call the file damaged.
[[nodiscard]] int examine_main(int argc, char** argv);

}  // namespace tessera::inline v1::io
