#include "mpi/probes.hpp"

#include <algorithm>
#include <bit>

#include "base/statistics.hpp"
#include "base/timer.hpp"
#include "machine/buffer.hpp"
#include "mpi/tags.hpp"

namespace tessera::mpi {
namespace {

constexpr index_t large = index_t{4} << 20;

/// Returns the median seconds of `step`, repeated for about `seconds`, equally often on every rank.
/// Collective.
template <class Step>
double median_seconds(const Communicator& comm, double seconds, const Step& step) {
  std::vector<double> samples;
  const Timer total;
  constexpr int at_least = 5;
  for (int r = 0;; ++r) {
    comm.barrier();
    const Timer timer;
    step();
    const double elapsed = comm.max(timer.seconds());
    if (r > 0) samples.push_back(elapsed);  // the first repetition sets up connections
    if (comm.max(index_t{total.seconds() < seconds || r < at_least ? 1 : 0}) == 0) break;
  }
  return summarize(samples).median;
}

/// Returns the peer of rank 0: not its neighbour, which may be nearer than most.
int far_rank(const Communicator& comm) { return comm.size() / 2; }
bool is_of_pair(const Communicator& comm) {
  return comm.rank() == 0 || comm.rank() == far_rank(comm);
}

void ping_pong(const Communicator& comm, std::span<std::byte> data, int rounds) {
  if (!is_of_pair(comm)) return;
  const int peer = far_rank(comm) - comm.rank();
  for (int r = 0; r < rounds; ++r) {
    if (comm.rank() == 0) {
      comm.send(data, peer, tag::probe).wait();
      comm.receive(data, peer, tag::probe).wait();
    } else {
      comm.receive(data, peer, tag::probe).wait();
      comm.send(data, peer, tag::probe).wait();
    }
  }
}

/// Sends `count` messages at once from rank 0 to the far rank, then an answer.
void burst(const Communicator& comm, std::span<std::byte> data, int count) {
  if (!is_of_pair(comm)) return;
  const int peer = far_rank(comm) - comm.rank();
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i)
    requests.push_back(
        comm.rank() == 0
            ? comm.send(data.subspan(static_cast<std::size_t>(i) * 8, 8), peer, tag::probe)
            : comm.receive(data.subspan(static_cast<std::size_t>(i) * 8, 8), peer, tag::probe));
  wait_all(requests);
  Request answer = comm.rank() == 0 ? comm.receive(data.first(8), peer, tag::probe)
                                    : comm.send(data.first(8), peer, tag::probe);
  answer.wait();
}

/// Sends from every rank to the rank at `distance`.
void shift(const Communicator& comm, std::span<std::byte> out, std::span<std::byte> in,
           int distance) {
  const int size = comm.size();
  Request arriving = comm.receive(in, (comm.rank() + size - distance) % size, tag::probe);
  comm.send(out, (comm.rank() + distance) % size, tag::probe).wait();
  arriving.wait();
}

void all_to_all(const Communicator& comm, std::span<std::byte> out, std::span<std::byte> in) {
  std::vector<Request> requests;
  const std::size_t block = out.size() / static_cast<std::size_t>(comm.size());
  for (int step = 1; step < comm.size(); ++step) {
    const int from = (comm.rank() + comm.size() - step) % comm.size();
    requests.push_back(
        comm.receive(in.subspan(static_cast<std::size_t>(from) * block, block), from, tag::probe));
  }
  for (int step = 1; step < comm.size(); ++step) {
    const int to = (comm.rank() + step) % comm.size();
    requests.push_back(
        comm.send(out.subspan(static_cast<std::size_t>(to) * block, block), to, tag::probe));
  }
  wait_all(requests);
}

}  // namespace

void measure_shifts(const Communicator& comm, double seconds, MessageCosts& costs) {
  machine::Buffer<std::byte> out(large), in(large);
  std::fill(out.begin(), out.end(), std::byte{1});
  std::fill(in.begin(), in.end(), std::byte{0});
  const auto distances = static_cast<int>(std::bit_width(static_cast<unsigned>(comm.size() - 1)));
  for (int distance = 1; distance < comm.size(); distance *= 2) {
    const double step = median_seconds(comm, seconds / distances,
                                       [&] { shift(comm, out.span(), in.span(), distance); });
    costs.shift_bandwidth.push_back(static_cast<double>(large) / step);
  }
}

MessageCosts measure_messages(const Communicator& comm, double seconds, Probe probe) {
  MessageCosts costs;
  constexpr int rounds = 50, many = 256;
  const index_t block = probe == Probe::pair ? 0
                                             : std::max<index_t>(index_t{64} << 10,
                                                                 (index_t{16} << 20) / comm.size());
  const index_t between_two = is_of_pair(comm) ? large : 0;
  machine::Buffer<std::byte> out(std::max(between_two, block * comm.size())),
      in(block * comm.size());
  std::fill(out.begin(), out.end(), std::byte{1});
  std::fill(in.begin(), in.end(), std::byte{0});
  const auto first = [](machine::Buffer<std::byte>& buffer, index_t count) {
    return buffer.span().first(static_cast<std::size_t>(std::min(count, buffer.size())));
  };
  const auto median = [&](const auto& step) { return median_seconds(comm, seconds / 5, step); };
  costs.latency_seconds = median([&] { ping_pong(comm, first(out, 8), rounds); }) / (2 * rounds);
  costs.message_seconds = std::max(0.0, median([&] { burst(comm, first(out, 8 * many), many); }) -
                                            median([&] { burst(comm, first(out, 8), 1); })) /
                          (many - 1);
  costs.bandwidth =
      static_cast<double>(large) * 2 / median([&] { ping_pong(comm, first(out, large), 1); });
  if (probe == Probe::pair) return costs;
  measure_shifts(comm, seconds / 5, costs);
  const double moved = static_cast<double>(block) * comm.size() * (comm.size() - 1);
  costs.all_to_all_bandwidth =
      moved / median([&] {
        all_to_all(comm, first(out, block * comm.size()), first(in, block * comm.size()));
      });
  return costs;
}

Network network(const MessageCosts& costs, index_t ranks) {
  Network result{.latency = costs.latency_seconds,
                 .message = costs.message_seconds,
                 .bandwidth = costs.bandwidth,
                 .crowd_bandwidth = costs.all_to_all_bandwidth / static_cast<double>(ranks)};
  std::copy(costs.shift_bandwidth.begin(), costs.shift_bandwidth.end(),
            result.shift_bandwidth.begin());
  return result;
}

}  // namespace tessera::mpi
