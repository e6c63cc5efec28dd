#pragma once
// Exact splitters by multiselection in a sorted sequence distributed in one run per rank.

#include <span>
#include <vector>

#include "kernels/sort/runs.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::sort {

/// Returns the cuts of this rank's run. positions ascend from 0 to the number of items of all
/// ranks. cuts[b] of all ranks sum to positions[b], and the items before the cuts are the
/// positions[b] smallest of all; equal items are taken from lower ranks first. Collective.
///
/// Searches all borders at once with several probes per border and round: every rank offers items
/// at regular distances of the open interval, all ranks count all probes. A round divides the open
/// interval by the number of probes for any keys; two collectives a round, usually three to six
/// rounds.
template <class Item>
[[nodiscard]] std::vector<index_t> exact_cuts(const mpi::Communicator& comm,
                                              tessera::sort::Run<Item> run,
                                              std::span<const index_t> positions);

/// Returns the number of probes that a rank offers in a round while `open` borders are sought.
[[nodiscard]] index_t probes_per_round(index_t ranks, index_t open);

}  // namespace tessera::inline v1::dist::sort
