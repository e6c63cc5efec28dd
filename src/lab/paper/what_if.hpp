#pragma once
// Occupancy of blocks that exist on paper: for any compute capability, on any machine.

#include <string>
#include <vector>

#include "io/results.hpp"
#include "machine/residency.hpp"

namespace tessera::inline v1::paper {

/// Prints how many blocks of the shape a multiprocessor of every compute capability holds. Returns
/// the same as a table.
[[nodiscard]] std::vector<io::TableRows> print_what_if(const machine::BlockShape& block);

/// Prints what the block takes of a multiprocessor of one compute capability, how many blocks each
/// resource admits, and a few points of the three curves. Returns the curves: occupancy against
/// threads per block, registers per thread and shared memory per block, the others unchanged.
/// Throws Error(usage) for unknown versions.
[[nodiscard]] std::vector<io::TableRows> print_what_if(const machine::BlockShape& block,
                                                       const std::string& version);

}  // namespace tessera::inline v1::paper
