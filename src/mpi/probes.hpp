#pragma once
// What messages cost here, measured.

#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/network.hpp"

namespace tessera::mpi {

struct MessageCosts {
  double latency_seconds = 0;  ///< half a round trip of 8 bytes between ranks 0 and size / 2
  double message_seconds =
      0;  ///< a message of 8 bytes more where rank 0 sends many to rank size / 2 at once
  double bandwidth = 0;  ///< bytes/s one way, messages of 4 MiB between ranks 0 and size / 2
  double all_to_all_bandwidth =
      0;  ///< bytes/s received by all ranks together, equal blocks from everyone to everyone
  std::vector<double> shift_bandwidth;  ///< bytes/s received by a rank while each sends 4 MiB to
                                        ///< the one 1, 2, 4, ... further
};

enum class Probe { pair, pair_and_all };  ///< pair: without what all do at once, 0 then

/// Collective, on at least 2 ranks; medians of repetitions that take about `seconds` in all.
[[nodiscard]] MessageCosts measure_messages(const Communicator& comm, double seconds,
                                            Probe probe = Probe::pair_and_all);

/// Of these the bandwidths of shifts alone.
void measure_shifts(const Communicator& comm, double seconds, MessageCosts& costs);

/// The same in the terms of plans.
[[nodiscard]] Network network(const MessageCosts& costs, index_t ranks);

}  // namespace tessera::mpi
