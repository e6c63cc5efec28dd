#pragma once
// What messages cost here, measured.

#include "mpi/communicator.hpp"

namespace tessera::mpi {

struct MessageCosts {
  double latency_seconds = 0;  ///< half a round trip of 8 bytes between ranks 0 and 1
  double bandwidth = 0;        ///< bytes/s one way, messages of 4 MiB between ranks 0 and 1
  double all_to_all_bandwidth =
      0;  ///< bytes/s received by all ranks together, equal blocks from everyone to everyone
};

/// Collective, on at least 2 ranks; medians of repetitions that take about `seconds` in all.
[[nodiscard]] MessageCosts measure_messages(const Communicator& comm, double seconds);

}  // namespace tessera::mpi
