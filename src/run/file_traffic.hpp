#pragma once
// What went between files and memory beside computing, as rows of the results.

#include "io/async_file.hpp"
#include "mpi/communicator.hpp"
#include "run/session.hpp"

namespace tessera::run {

/// Adds what every rank read, wrote and waited for in a repetition (-1: once a point) to the tables
/// of the results; nothing where no rank did. Collective.
void note_traffic(const mpi::Communicator& comm, const io::FileTraffic& mine, index_t repetition,
                  Measured& measured);

}  // namespace tessera::run
