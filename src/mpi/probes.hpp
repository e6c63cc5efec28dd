#pragma once
// Benchmarks of messages on this machine.

#include <span>
#include <utility>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/network.hpp"

namespace tessera::inline v1::mpi {

struct MessageCosts {
  double latency_seconds = 0;  ///< half a round trip of 8 bytes between ranks 0 and size / 2
  double message_seconds =
      0;  ///< cost of an additional 8-byte message if rank 0 sends many to rank size / 2 at once
  double bandwidth = 0;  ///< bytes/s one way, messages of 4 MiB between ranks 0 and size / 2
  double all_to_all_bandwidth =
      0;  ///< bytes/s received by all ranks together, equal blocks between all ranks
  std::vector<double>
      shift_bandwidth;  ///< bytes/s received by a rank in shifts of 4 MiB by 1, 2, 4, ... ranks
};

enum class Probe { pair, pair_and_all };  ///< pair: collective measurements are skipped and stay 0

/// Measures messages: medians of repetitions that take about `seconds` in total. Requires at least
/// 2 ranks. Collective.
[[nodiscard]] MessageCosts measure_messages(const Communicator& comm, double seconds,
                                            Probe probe = Probe::pair_and_all);

/// Measures the bandwidths of shifts only. Collective.
void measure_shifts(const Communicator& comm, double seconds, MessageCosts& costs);

/// Measures messages between two ranks while the others wait: returns the least seconds of half a
/// round trip for every size in bytes, about `seconds` seconds each; on every rank. Collective.
[[nodiscard]] std::vector<double> measure_pair(const Communicator& comm, std::pair<int, int> ranks,
                                               std::span<const index_t> sizes, double seconds);

/// Converts the costs to the parameters of plans.
[[nodiscard]] Network network(const MessageCosts& costs, index_t ranks);

}  // namespace tessera::inline v1::mpi
