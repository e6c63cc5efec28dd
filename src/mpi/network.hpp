#pragma once
// Cost model of messages, for plans, from a few measured parameters.
//
// A single message takes latency + bytes / bandwidth (Hockney 1994). Of several at once a rank
// sends one after the other and receives one after the other, `message` seconds each, while their
// transfers overlap (LogGP, Alexandrov et al. 1995); if all ranks do so, the network grants each of
// them crowd_bandwidth. If every rank sends to the rank at a given distance (a shift), the
// bandwidth depends on how many share the links between switches or groups, hence on the distance.
// Collectives are modelled by the better of the textbook algorithms for short and for long vectors
// (Thakur, Rabenseifner and Gropp 2005), as in MPI libraries.

#include <array>
#include <span>

#include "base/index.hpp"

namespace tessera::inline v1::mpi {

/// Parameters of a network; the defaults, without measurements, are those of a common one of 2020.
struct Network {
  double latency = 2e-6;  ///< seconds per short message
  double message =
      0.5e-6;  ///< the part of a latency that a rank's processor spends on sending or receiving
  double bandwidth = 5e9;        ///< bytes/s between two ranks on an idle network
  double crowd_bandwidth = 5e9;  ///< bytes/s received by a rank while all send to all
  /// bytes/s received by a rank in shifts by 1, 2, 4, ...; 0: as for half that distance
  std::array<double, 24> shift_bandwidth{5e9};
};

/// Returns the seconds per byte of a shift by `distance` ranks.
[[nodiscard]] double shift_seconds(const Network& network, index_t distance);

/// Return whether long messages are broadcast along a chain of ranks, and the size of its segments:
/// each segment is forwarded while the next one arrives (van de Geijn and Watts 1997). Libraries'
/// algorithms for few ranks send the whole message in each of log2(ranks) rounds. If false, the
/// library selects the algorithm.
[[nodiscard]] bool uses_chain(index_t bytes, index_t ranks);
[[nodiscard]] index_t chain_segment(index_t bytes, index_t ranks);

/// The messages of a rank in one exchange: all posted, then all awaited.
struct Load {
  index_t sent = 0, received = 0;  ///< messages
  index_t sent_bytes = 0;
  index_t received_bytes = 0;
};

/// Returns the seconds of an exchange in which all ranks have this load; 0 without messages.
[[nodiscard]] double at_once(const Network& network, const Load& load);
/// Returns the seconds until all ranks have completed their loads, limited by each rank's link and
/// by the network.
[[nodiscard]] double at_once(const Network& network, std::span<const Load> loads);

/// A message to the rank at a distance; negative distances are lower ranks.
struct Sent {
  index_t distance = 0;
  index_t bytes = 0;
};
/// Returns the seconds until every rank has sent these messages and received as many bytes:
/// messages in the same direction share links.
[[nodiscard]] double among_neighbours(const Network& network, std::span<const Sent> messages);

/// The ranks first, first + distance, ...: a row or column of a grid. All rows or columns operate
/// concurrently, the last one `apart` seconds after the first; lines that begin together share
/// bandwidth, lines that begin one after the other use it in turn.
struct Line {
  index_t ranks = 1;
  index_t distance = 1;  ///< between neighbours
  double apart = 0;
};

// Seconds of collectives on the given number of ranks; 0 for one rank.
[[nodiscard]] double broadcast(const Network& network, double bytes, Line line);
/// Returns the delay between a rank of the chain and its predecessor; 0 if there is no chain. Ranks
/// that enter the next broadcast as soon as they have this one wait for the whole chain only once.
[[nodiscard]] double chain_filling(const Network& network, double bytes, Line line);
[[nodiscard]] double all_gather(const Network& network, double bytes_of_all, index_t ranks);
[[nodiscard]] double all_reduce(const Network& network, double bytes, index_t ranks);
[[nodiscard]] double scan(const Network& network, double bytes, index_t ranks);
[[nodiscard]] double all_to_all(const Network& network, double bytes_each, index_t ranks);

}  // namespace tessera::inline v1::mpi
