#pragma once
// Common parts of the bench of exchanges.

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "machine/buffer.hpp"
#include "machine/gpu.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/phases.hpp"

namespace tessera::exchange_bench {

namespace device = machine::device;
using mpi::Communicator;
using mpi::DeviceExchange;
using mpi::DeviceTransport;

/// Returns the median over repetitions of the slowest rank's seconds; prepare() is untimed.
template <class Prepare, class F>
double median_seconds(const Communicator& comm, int repetitions, const Prepare& prepare,
                      const F& run) {
  std::vector<double> samples;
  for (int r = -2; r < repetitions; ++r) {
    prepare();
    comm.barrier();
    const Timer timer;
    run();
    const double seconds = comm.max(timer.seconds());
    if (r >= 0) samples.push_back(seconds);
  }
  return summarize(samples).median;
}
template <class F>
double median_seconds(const Communicator& comm, int repetitions, const F& run) {
  return median_seconds(
      comm, repetitions, [] {}, run);
}

inline std::string gb_per_s(double bytes, double seconds) {
  return fmt::format("{:.1f}", bytes / seconds / 1e9);
}

/// Exchanges `bytes` of every rank in equal parts with all ranks including itself.
class AllToAll {
 public:
  AllToAll(const DeviceExchange& exchange, index_t bytes)
      : exchange_(exchange),
        ranks_(exchange.comm().size()),
        rank_(exchange.comm().rank()),
        part_(round_up(bytes / ranks_, 256)),
        from_(part_ * ranks_, device::Home::device),
        to_(exchange, part_ * ranks_) {
    machine::Buffer<std::uint64_t> words(part_ * ranks_ / 8);
#pragma omp parallel for
    for (index_t i = 0; i < words.size(); ++i) words[i] = word(rank_, i);
    device::upload(
        {reinterpret_cast<const std::byte*>(words.data()), 1, part_ * ranks_, part_ * ranks_},
        matrix_view(from_.data(), 1, part_ * ranks_), 0);
    for (int k = 0; k < ranks_; ++k) streams_.push_back(std::make_unique<device::Stream>());
  }

  void run() {
    const auto part = [&](std::byte* data, int number) {
      return matrix_view(data + number * part_, 1, part_);
    };
    if (exchange_.reaches()) {
      exchange_.comm().barrier();
      for (int phase = 1; phase <= ranks_; ++phase) {
        const int peer = (rank_ + phase) % ranks_;
        device::copy(part(from_.data(), peer), part(to_.of(peer), rank_),
                     *streams_[static_cast<std::size_t>(peer)]);
      }
      for (const auto& stream : streams_) stream->wait();
      exchange_.comm().barrier();
      return;
    }
    std::vector<mpi::DeviceOut> out;
    std::vector<mpi::DeviceIn> in;
    for (int phase = 1; phase < ranks_; ++phase) {
      const int to = (rank_ + phase) % ranks_, from = (rank_ + ranks_ - phase) % ranks_;
      out.push_back({to, part(from_.data(), to)});
      in.push_back({from, part(to_.data(), from)});
    }
    device::copy(part(from_.data(), rank_), part(to_.data(), rank_), *streams_.front());
    exchange_.exchange(out, in);
    streams_.front()->wait();
  }

  [[nodiscard]] double bytes() const { return static_cast<double>(part_) * ranks_; }

  /// Returns whether every rank holds the expected data.
  [[nodiscard]] bool right() {
    machine::Buffer<std::uint64_t> words(part_ * ranks_ / 8);
    device::download(
        matrix_view(to_.data(), 1, part_ * ranks_),
        {reinterpret_cast<std::byte*>(words.data()), 1, part_ * ranks_, part_ * ranks_}, 0);
    index_t wrong = 0;
    const index_t each = part_ / 8;
#pragma omp parallel for reduction(+ : wrong)
    for (index_t i = 0; i < words.size(); ++i)
      wrong += words[i] == word(static_cast<int>(i / each), rank_ * each + i % each) ? 0 : 1;
    return exchange_.comm().sum(wrong) == 0;
  }

 private:
  static std::uint64_t word(int rank, index_t i) {
    return random_bits(1, static_cast<std::uint64_t>(rank), i);
  }
  const DeviceExchange& exchange_;
  int ranks_, rank_;
  index_t part_;
  device::Allocation from_;
  mpi::PeerMemory to_;
  std::vector<std::unique_ptr<device::Stream>> streams_;
};

/// Available transports, and whether their results were correct.
struct Bench {
  Communicator comm;
  bool quick = false;
  std::vector<DeviceExchange> transports = {};
  bool right = true;

  [[nodiscard]] int repetitions(const DeviceExchange& exchange) const {
    return quick || exchange.transport() == DeviceTransport::staged ? 3 : 9;
  }
  /// Returns the number of ranks per GPU.
  [[nodiscard]] int sharing() const {
    const auto devices = static_cast<int>(machine::gpus().devices.size());
    return (comm.node().size() + devices - 1) / devices;
  }
  std::string verdict(bool is_right) {
    right = right && is_right;
    return is_right ? "right" : "WRONG";
  }
  void show(const Table& table) const {
    if (comm.is_root()) fmt::print("{}\n", table.text());
  }
};

void plans(Bench& bench);
void products(Bench& bench);
void sorts(Bench& bench);
void stencils(Bench& bench);

}  // namespace tessera::exchange_bench
