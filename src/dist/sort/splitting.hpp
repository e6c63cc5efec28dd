#pragma once
// Where a sorted sequence that lies in a run a rank is to be cut.

#include <span>
#include <vector>

#include "kernels/sort/runs.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::sort {

/// positions ascend from 0 to the number of items of all ranks. cuts[b] of all ranks sum to
/// positions[b], and the items before the cuts are the positions[b] smallest of all; equal items
/// are taken from lower ranks first. Collective.
///
/// Several borders at a time, several probes a border and round: every rank offers items at regular
/// distances of what is still open, all count all of them. What is open shrinks by the number of
/// probes whatever the keys; two collectives a round, three to six rounds as a rule.
template <class Item>
[[nodiscard]] std::vector<index_t> exact_cuts(const mpi::Communicator& comm,
                                              tessera::sort::Run<Item> run,
                                              std::span<const index_t> positions);

/// Probes that a rank offers a round while `open` borders are sought.
[[nodiscard]] index_t probes_per_round(index_t ranks, index_t open);

}  // namespace tessera::dist::sort
