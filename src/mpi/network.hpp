#pragma once
// What messages will take: arithmetic for plans, from a few measured figures.
//
// A message alone takes latency + bytes / bandwidth (Hockney 1994). Of many at once a rank sends
// one after the other and takes one after the other, `message` seconds each, while they travel side
// by side (LogGP, Alexandrov et al. 1995), and when all ranks do so the network gives each of them
// crowd_bandwidth. When every rank sends to the one so much further, how much each gets depends on
// how many of them share the links between switches or groups: the distance says that. Collectives
// are taken to be the better of the textbook algorithms for short and for long vectors (Thakur,
// Rabenseifner and Gropp 2005), as the libraries choose them.

#include <array>
#include <span>

#include "base/index.hpp"

namespace tessera::mpi {

/// Without measurements: a common network of 2020.
struct Network {
  double latency = 2e-6;  ///< seconds of a short message
  double message =
      0.5e-6;              ///< of a latency, what a rank's processor spends on sending or on taking
  double bandwidth = 5e9;  ///< bytes/s between two ranks, nobody else talking
  double crowd_bandwidth = 5e9;  ///< bytes/s that a rank receives while all send to all
  /// ... while every rank sends to the one 1, 2, 4, ... further; 0: as at half that distance
  std::array<double, 24> shift_bandwidth{5e9};
};

/// Seconds that a byte takes while every rank sends to the one so much further.
[[nodiscard]] double shift_seconds(const Network& network, index_t distance);

/// Long messages go to all along a chain of ranks, in segments: while one is received the one
/// before it is passed on (van de Geijn and Watts 1997). What libraries take for them on few ranks
/// sends all of the message in each of log2(ranks) rounds. Of this many bytes on this many ranks;
/// else the library decides.
[[nodiscard]] bool goes_along_a_chain(index_t bytes, index_t ranks);
[[nodiscard]] index_t chain_segment(index_t bytes, index_t ranks);

/// What a rank sends and receives in one go: all posted, then all awaited.
struct Load {
  index_t sent = 0, received = 0;  ///< messages
  index_t sent_bytes = 0;
  index_t received_bytes = 0;
};

/// Seconds until it is done, while all ranks do as much; 0 without messages.
[[nodiscard]] double at_once(const Network& network, const Load& load);
/// ... each rank what it has to do, until all have: what a rank's own link takes, and what the
/// network takes for all of them.
[[nodiscard]] double at_once(const Network& network, std::span<const Load> loads);

/// What goes to a rank so much further or, below 0, so much before.
struct Sent {
  index_t distance = 0;
  index_t bytes = 0;
};
/// Seconds until every rank has sent all of it and received as much: what goes the same way shares
/// links.
[[nodiscard]] double among_neighbours(const Network& network, std::span<const Sent> messages);

/// Ranks first, first + distance, ...: a row of a grid, or a column; all rows or all columns at
/// once, the last one `apart` seconds after the first. What lines that begin together have to
/// share, lines that begin one after the other have in turn.
struct Line {
  index_t ranks = 1;
  index_t distance = 1;  ///< of neighbours
  double apart = 0;
};

// Collectives of so many ranks; 0 for one.
[[nodiscard]] double broadcast(const Network& network, double bytes, Line line);
/// By how much a rank of the chain has its data later than the one before it; 0 where there is no
/// chain. Ranks that go on to the next broadcast once they have this one wait for the whole chain
/// only once.
[[nodiscard]] double chain_filling(const Network& network, double bytes, Line line);
[[nodiscard]] double all_gather(const Network& network, double bytes_of_all, index_t ranks);
[[nodiscard]] double all_reduce(const Network& network, double bytes, index_t ranks);
[[nodiscard]] double scan(const Network& network, double bytes, index_t ranks);
[[nodiscard]] double all_to_all(const Network& network, double bytes_each, index_t ranks);

}  // namespace tessera::mpi
