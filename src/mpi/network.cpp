#include "mpi/network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "mpi/long_collectives.hpp"

namespace tessera::inline v1::mpi {
namespace {

// Thresholds between the algorithms of MPI libraries (MPICH; Thakur, Rabenseifner and Gropp 2005).
constexpr index_t shortest_chained =
    index_t{64} << 10;  // below, the latencies of a chain cost more than rounds
constexpr index_t shortest_segment = index_t{16}
                                     << 10;  // messages from this size on are bandwidth-bound
constexpr index_t longest_segment = index_t{1} << 20;
constexpr double ring_bytes = 512 * 1024;  // all-gathers from this size on use a ring

/// Returns ceil(log2(ranks)), the rounds of a logarithmic algorithm.
double rounds(index_t ranks) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
}

/// Returns the seconds per byte of shifts by 2^i, measured at the largest known distance up to it.
double seconds_at(const Network& network, std::size_t i) {
  i = std::min(i, network.shift_bandwidth.size() - 1);
  while (i > 0 && network.shift_bandwidth[i] == 0) --i;
  return 1 / network.shift_bandwidth[i];
}

/// Returns the seconds of rounds between ranks 1, 2, 4, ... apart which move 1/2, 1/4, ... of the
/// bytes.
double halving_rounds(const Network& network, double bytes, index_t ranks) {
  double seconds = 0;
  for (index_t distance = 1; distance < ranks; distance *= 2) {
    bytes /= 2;
    seconds += network.latency + bytes * shift_seconds(network, distance);
  }
  return seconds;
}

/// As at_once, for a given time per byte.
double at_once(const Network& network, const Load& load, double byte_seconds) {
  if (load.sent + load.received == 0) return 0;
  const double sending = static_cast<double>(load.sent) * network.message;
  const double taking = static_cast<double>(load.received) * network.message;
  const double travel =
      std::max(network.latency - network.message, 0.0) +
      static_cast<double>(std::max(load.sent_bytes, load.received_bytes)) * byte_seconds;
  return sending + std::max(taking, travel);
}

/// Returns the seconds per byte of a broadcast of `bytes` along a line. Lines that begin together
/// share the links between switches or groups; a delay between them (line.apart) reduces the
/// sharing.
double line_seconds(const Network& network, double bytes, const Line& line) {
  const double together = shift_seconds(network, line.distance);
  return std::max(std::min(together, 1 / network.bandwidth), together - line.apart / bytes);
}

}  // namespace

double shift_seconds(const Network& network, index_t distance) {
  const auto below =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(distance)) - 1);
  const double share = static_cast<double>(distance) / std::ldexp(1.0, static_cast<int>(below)) - 1;
  // Interpolates: the number of ranks that send across a border grows with the distance.
  return std::lerp(seconds_at(network, below), seconds_at(network, below + 1), share);
}

double at_once(const Network& network, const Load& load) {
  return at_once(network, load, 1 / network.crowd_bandwidth);
}

double at_once(const Network& network, std::span<const Load> loads) {
  index_t sent_bytes = 0, most_bytes = 0;
  for (const Load& load : loads) {
    sent_bytes += load.sent_bytes;
    most_bytes = std::max({most_bytes, load.sent_bytes, load.received_bytes});
  }
  if (most_bytes == 0) return 0;
  const double mean = static_cast<double>(sent_bytes) / static_cast<double>(loads.size());
  // The busiest rank is limited by its link, or by its share of the network.
  const double byte_seconds =
      std::max(std::min(1 / network.bandwidth, 1 / network.crowd_bandwidth),
               mean / static_cast<double>(most_bytes) / network.crowd_bandwidth);
  double slowest = 0;
  for (const Load& load : loads) slowest = std::max(slowest, at_once(network, load, byte_seconds));
  return slowest;
}

double among_neighbours(const Network& network, std::span<const Sent> messages) {
  double own = 0, further = 0, before = 0;
  index_t bytes = 0;
  for (const Sent& message : messages) {
    const auto size = static_cast<double>(message.bytes);
    bytes += message.bytes;
    own += size * shift_seconds(network, 1);
    (message.distance > 0 ? further : before) +=
        size * shift_seconds(network, std::abs(message.distance));
  }
  if (bytes == 0) return 0;
  const auto count = static_cast<index_t>(messages.size());
  return at_once(network, {count, count, bytes, bytes},
                 std::max({own, further, before}) / static_cast<double>(bytes));
}

bool uses_chain(index_t bytes, index_t ranks) { return ranks >= 4 && bytes >= shortest_chained; }

index_t chain_segment(index_t bytes, index_t ranks) {
  return std::clamp(round_up(ceil_div(bytes, 4 * ranks), 64), shortest_segment, longest_segment);
}

double chain_filling(const Network& network, double bytes, Line line) {
  const auto size = static_cast<index_t>(bytes);
  if (!uses_chain(size, line.ranks)) return 0;
  return network.latency +
         static_cast<double>(chain_segment(size, line.ranks)) * line_seconds(network, bytes, line);
}

double broadcast(const Network& network, double bytes, Line line) {
  if (line.ranks <= 1) return 0;
  const auto size = static_cast<index_t>(bytes);
  if (!uses_chain(size, line.ranks)) {
    // A tree to the half of the line, its quarters, ...: at distance `reach`, one in `reach` ranks
    // sends.
    double seconds = 0;
    for (index_t reach = 1; reach < line.ranks; reach *= 2) {
      const double crowd =
          shift_seconds(network, reach * line.distance) / static_cast<double>(reach);
      seconds += network.latency + bytes * std::max(crowd, 1 / network.bandwidth);
    }
    return seconds;
  }
  const auto segments = static_cast<double>(ceil_div(size, chain_segment(size, line.ranks)));
  return network.latency + bytes * line_seconds(network, bytes, line) + segments * network.message +
         static_cast<double>(line.ranks - 2) * chain_filling(network, bytes, line);
}

double all_gather(const Network& network, double bytes_of_all, index_t ranks) {
  if (ranks <= 1) return 0;
  if (gathers_by_doubling(static_cast<index_t>(bytes_of_all), ranks))
    return halving_rounds(network, bytes_of_all, ranks);
  const double steps = bytes_of_all < ring_bytes ? rounds(ranks) : static_cast<double>(ranks - 1);
  return steps * network.latency + bytes_of_all / network.crowd_bandwidth;
}

double all_reduce(const Network& network, double bytes, index_t ranks) {
  if (ranks <= 1) return 0;
  if (sums_in_parts(static_cast<index_t>(bytes), ranks)) {
    const auto paired = static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(ranks)));
    const double others =
        paired == ranks ? 0 : network.latency + bytes * shift_seconds(network, paired);
    return 2 * (others + halving_rounds(network, bytes, paired));
  }
  return rounds(ranks) * (network.latency + bytes / network.crowd_bandwidth);
}

double scan(const Network& network, double bytes, index_t ranks) {
  return ranks <= 1 ? 0 : rounds(ranks) * (network.latency + bytes / network.bandwidth);
}

double all_to_all(const Network& network, double bytes_each, index_t ranks) {
  if (ranks <= 1) return 0;
  const auto peers = static_cast<double>(ranks - 1);
  const double
      forwarded =  // ceil(log2(ranks)) rounds, half of the data in each (Bruck et al. 1997)
      rounds(ranks) *
      (network.latency + bytes_each * static_cast<double>(ranks) / 2 / network.crowd_bandwidth);
  const double direct = network.latency + 2 * (peers - 1) * network.message +
                        peers * bytes_each / network.crowd_bandwidth;
  return std::min(forwarded, direct);
}

}  // namespace tessera::inline v1::mpi
