#pragma once
// Does the plan fit? Asked before anything is allocated.

#include <functional>
#include <vector>

#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// Throws AgreedError(memory) with the numbers when `bytes` (of this rank, as planned) exceed --memory, or
/// when the ranks of a node together exceed 90 % of what the node has free. most_on(ranks) is the largest
/// need of a rank if there were so many ranks: with it the message names the smallest number that fits.
/// Collective.
void require_memory(const mpi::Communicator& comm, const Values& point, index_t bytes,
                    const std::function<index_t(index_t ranks)>& most_on);

/// For --plan: says in a line where require_memory() would end the run; of --ranks it knows --memory alone,
/// for they run elsewhere. Collective.
void print_if_too_large(const mpi::Communicator& comm, const Values& point, index_t bytes,
                        const std::function<index_t(index_t ranks)>& most_on);

/// The bytes that are any rank's share of 90 % of what its node has free. Collective.
[[nodiscard]] index_t free_share(const mpi::Communicator& comm);
/// The bytes that any rank may plan to hold: --memory, and its share of 90 % of what the node has free.
/// Collective.
[[nodiscard]] index_t memory_allowance(const mpi::Communicator& comm, const Values& point);

}  // namespace tessera::run
