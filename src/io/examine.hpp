#pragma once
// The examining process: reads a little of a file that may be damaged, with limits, and tells what
// it found.

#include "base/index.hpp"

namespace tessera::io {

/// What may be asked of it.
inline constexpr const char* as_dataset = "dataset";
inline constexpr const char* as_table = "table";
inline constexpr const char* as_checksums = "checksums";
inline constexpr const char* as_results = "results";
inline constexpr const char* as_output = "output";

/// What one step of an examination may take.
struct ReadLimits {
  double seconds = 0;        ///< of processor time, of the thread that reads
  index_t memory_bytes = 0;  ///< resident, beyond what the process held when it began
};

/// 10 s and 4 GiB, and for a step that reads so many bytes (bytes_to_read) a second more for every
/// 16 MiB of them and four times their memory: the filters of a chunk hold it several times.
[[nodiscard]] ReadLimits allowance_of(index_t bytes);

/// Runs the program that examines: argv is its name, one of the words above, a file, and a path in
/// it. Prints the answer that probe.cpp reads, or the words of an error, and returns the exit code.
/// A step that takes more than its allowance ends the process: Error(bad_data)'s code, and words
/// that call no file damaged.
[[nodiscard]] int examine_main(int argc, char** argv);

}  // namespace tessera::io
