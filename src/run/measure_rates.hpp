#pragma once
// Rates of what a run does besides its kernels: making input, checking, files. A plan's time is
// computed from them.

#include <vector>

#include "run/ceilings.hpp"

namespace tessera::inline v1::run {

/// Returns, in GB/s, the rates of `threads` threads together, each the best of a few runs of
/// milliseconds: "touch", first writes to new memory; "generate", random numbers; "hash", the check
/// of a transpose; "sort", keys of 8 bytes; "encode" and "decode", chunks by shuffle and gzip.
[[nodiscard]] std::vector<Ceiling> work_rates(int threads);

/// Returns, in GB/s, the rates of a file in the current directory: "file_write", written, synced
/// and read back as an output; "file_read", from the page cache. Returns none if it cannot be
/// written.
[[nodiscard]] std::vector<Ceiling> file_rates();

}  // namespace tessera::inline v1::run
