#pragma once
// File traffic of a measurement as rows of the results.

#include "io/async_file.hpp"
#include "mpi/communicator.hpp"
#include "run/session.hpp"

namespace tessera::inline v1::run {

/// Appends the bytes every rank read and wrote and its waiting time in a repetition (-1: once per
/// point) to the results tables; nothing if no rank had any. Collective.
void note_traffic(const mpi::Communicator& comm, const io::FileTraffic& mine, index_t repetition,
                  Measured& measured);

}  // namespace tessera::inline v1::run
