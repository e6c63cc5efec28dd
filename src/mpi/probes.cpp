#include "mpi/probes.hpp"

#include <algorithm>
#include <bit>

#include "base/statistics.hpp"
#include "base/timer.hpp"
#include "machine/buffer.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {
namespace {

constexpr index_t large = index_t{4} << 20;

/// Returns the seconds of `step`, repeated for about `seconds`, equally often on every rank.
/// Collective.
template <class Step>
Summary timings(const Communicator& comm, double seconds, const Step& step) {
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
  return summarize(samples);
}
template <class Step>
double median_seconds(const Communicator& comm, double seconds, const Step& step) {
  return timings(comm, seconds, step).median;
}

/// Returns the ranks between which single messages are measured: the second is not the neighbour of
/// the first, which may be nearer than most.
std::pair<int, int> far_pair(const Communicator& comm) { return {0, comm.size() / 2}; }
bool is_of(const std::pair<int, int>& pair, const Communicator& comm) {
  return comm.rank() == pair.first || comm.rank() == pair.second;
}

void ping_pong(const Communicator& comm, const std::pair<int, int>& pair, std::span<std::byte> data,
               int rounds) {
  if (!is_of(pair, comm)) return;
  for (int r = 0; r < rounds; ++r) {
    if (comm.rank() == pair.first) {
      comm.send(data, pair.second, tag::probe).wait();
      comm.receive(data, pair.second, tag::probe).wait();
    } else {
      comm.receive(data, pair.first, tag::probe).wait();
      comm.send(data, pair.first, tag::probe).wait();
    }
  }
}

/// Sends `count` messages at once from rank 0 to the far rank, then an answer.
void burst(const Communicator& comm, std::span<std::byte> data, int count) {
  if (!is_of(far_pair(comm), comm)) return;
  const int peer = far_pair(comm).second - comm.rank();
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
  const index_t between_two = is_of(far_pair(comm), comm) ? large : 0;
  machine::Buffer<std::byte> out(std::max(between_two, block * comm.size())),
      in(block * comm.size());
  std::fill(out.begin(), out.end(), std::byte{1});
  std::fill(in.begin(), in.end(), std::byte{0});
  const auto first = [](machine::Buffer<std::byte>& buffer, index_t count) {
    return buffer.span().first(static_cast<std::size_t>(std::min(count, buffer.size())));
  };
  const auto median = [&](const auto& step) { return median_seconds(comm, seconds / 5, step); };
  costs.latency_seconds =
      median([&] { ping_pong(comm, far_pair(comm), first(out, 8), rounds); }) / (2 * rounds);
  costs.message_seconds = std::max(0.0, median([&] { burst(comm, first(out, 8 * many), many); }) -
                                            median([&] { burst(comm, first(out, 8), 1); })) /
                          (many - 1);
  costs.bandwidth = static_cast<double>(large) * 2 /
                    median([&] { ping_pong(comm, far_pair(comm), first(out, large), 1); });
  if (probe == Probe::pair) return costs;
  measure_shifts(comm, seconds / 5, costs);
  const double moved = static_cast<double>(block) * comm.size() * (comm.size() - 1);
  costs.all_to_all_bandwidth =
      moved / median([&] {
        all_to_all(comm, first(out, block * comm.size()), first(in, block * comm.size()));
      });
  return costs;
}

std::vector<double> measure_pair(const Communicator& comm, std::pair<int, int> ranks,
                                 std::span<const index_t> sizes, double seconds) {
  const index_t most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  machine::Buffer<std::byte> data(is_of(ranks, comm) ? most : 0);
  std::fill(data.begin(), data.end(), std::byte{1});
  std::vector<double> result;
  for (const index_t size : sizes) {
    const int rounds = size <= index_t{64} << 10 ? 20 : 2;
    const auto part = data.span().first(is_of(ranks, comm) ? static_cast<std::size_t>(size) : 0);
    const Summary all = timings(comm, seconds, [&] { ping_pong(comm, ranks, part, rounds); });
    result.push_back(all.min / (2 * rounds));
  }
  return result;
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

}  // namespace tessera::inline v1::mpi
