#include "mpi/network.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "mpi/long_sums.hpp"

namespace tessera::mpi {
namespace {

// Where the libraries change the algorithm (MPICH; Thakur, Rabenseifner and Gropp 2005).
constexpr index_t shortest_chained = index_t{64}
                                     << 10;  // below, the latencies of a chain cost more than rounds
constexpr index_t shortest_segment = index_t{16} << 10;  // a message of these costs its bytes, not its number
constexpr index_t longest_segment = index_t{1} << 20;
constexpr double ring_bytes = 512 * 1024;  // gathered by all: from neighbour to neighbour

/// Rounds in which everyone can have heard of everyone.
double rounds(index_t ranks) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
}

double bandwidth_of(const Network& network, Line line) {
  return line == Line::row ? network.near_bandwidth : network.far_bandwidth;
}

}  // namespace

double at_once(const Network& network, const Load& load) {
  if (load.sent + load.received == 0) return 0;
  const double sending = static_cast<double>(load.sent) * network.message;
  const double taking = static_cast<double>(load.received) * network.message;
  const double travel =
      std::max(network.latency - network.message, 0.0) +
      static_cast<double>(std::max(load.sent_bytes, load.received_bytes)) / network.crowd_bandwidth;
  return sending + std::max(taking, travel);
}

bool goes_along_a_chain(index_t bytes, index_t ranks) { return ranks >= 4 && bytes >= shortest_chained; }

index_t chain_segment(index_t bytes, index_t ranks) {
  return std::clamp(round_up(ceil_div(bytes, 4 * ranks), 64), shortest_segment, longest_segment);
}

double chain_filling(const Network& network, double bytes, index_t ranks, Line line) {
  const auto size = static_cast<index_t>(bytes);
  if (!goes_along_a_chain(size, ranks)) return 0;
  return network.latency + static_cast<double>(chain_segment(size, ranks)) / bandwidth_of(network, line);
}

double broadcast(const Network& network, double bytes, index_t ranks, Line line) {
  if (ranks <= 1) return 0;
  const double travel = bytes / bandwidth_of(network, line);
  const auto size = static_cast<index_t>(bytes);
  if (!goes_along_a_chain(size, ranks)) return rounds(ranks) * (network.latency + travel);
  const auto segments = static_cast<double>(ceil_div(size, chain_segment(size, ranks)));
  return network.latency + travel + segments * network.message +
         static_cast<double>(ranks - 2) * chain_filling(network, bytes, ranks, line);
}

double all_gather(const Network& network, double bytes_of_all, index_t ranks) {
  if (ranks <= 1) return 0;
  const double steps = bytes_of_all < ring_bytes ? rounds(ranks) : static_cast<double>(ranks - 1);
  return steps * network.latency + bytes_of_all / network.crowd_bandwidth;
}

double all_reduce(const Network& network, double bytes, index_t ranks) {
  if (ranks <= 1) return 0;
  if (sums_in_parts(static_cast<index_t>(bytes), ranks))
    return 2 * rounds(ranks) * network.latency + 2 * bytes / network.crowd_bandwidth;
  return rounds(ranks) * (network.latency + bytes / network.crowd_bandwidth);
}

double scan(const Network& network, double bytes, index_t ranks) {
  return ranks <= 1 ? 0 : rounds(ranks) * (network.latency + bytes / network.bandwidth);
}

double all_to_all(const Network& network, double bytes_each, index_t ranks) {
  if (ranks <= 1) return 0;
  const auto peers = static_cast<double>(ranks - 1);
  const double forwarded =  // in rounds, half of everything in each (Bruck et al. 1997)
      rounds(ranks) *
      (network.latency + bytes_each * static_cast<double>(ranks) / 2 / network.crowd_bandwidth);
  const double direct =
      network.latency + 2 * (peers - 1) * network.message + peers * bytes_each / network.crowd_bandwidth;
  return std::min(forwarded, direct);
}

}  // namespace tessera::mpi
