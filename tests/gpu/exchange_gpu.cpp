// Ranks that talk GPU to GPU, under mpirun: what the links give, and what of it the transpose and the product
// reach whose data stays on the GPUs. Seconds are those of the slowest rank, medians; results are checked.
//
//   mpirun -n 2 --bind-to none exchange_gpu [--quick] [links] [transpose] [matmul]

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "dist/matmul/on_devices.hpp"
#include "dist/transpose/on_devices.hpp"
#include "machine/buffer.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"

namespace tessera {
namespace {

namespace device = machine::device;
using mpi::Communicator;
using mpi::DeviceExchange;
using mpi::DeviceWay;

struct Ways {
  std::vector<DeviceExchange> all;
};

Ways find_ways(const Communicator& comm) {
  Ways ways;
  for (const DeviceWay way : mpi::device_ways) {
    try {
      const Timer timer;
      ways.all.push_back(DeviceExchange::choose(comm, std::string(name(way))));
      if (comm.is_root()) fmt::print("{}: found in {}\n", name(way), human_seconds(timer.seconds()));
    } catch (const Error& error) {
      if (comm.is_root()) fmt::print("{}: {}\n", name(way), error.what());
    }
  }
  const DeviceExchange chosen = DeviceExchange::choose(comm, "auto");
  if (comm.is_root()) fmt::print("auto: {}\n\n", chosen.text());
  return ways;
}

/// Median over repetitions of the slowest rank's seconds.
template <class F>
double median_seconds(const Communicator& comm, int repetitions, const F& run) {
  std::vector<double> samples;
  for (int r = -2; r < repetitions; ++r) {
    comm.barrier();
    const Timer timer;
    run();
    const double seconds = comm.max(timer.seconds());
    if (r >= 0) samples.push_back(seconds);
  }
  return summarize(samples).median;
}

std::string gb_per_s(double bytes, double seconds) { return fmt::format("{:.1f}", bytes / seconds / 1e9); }

/// `bytes` of every rank in equal parts to all of them, its own among them.
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
    device::upload({reinterpret_cast<const std::byte*>(words.data()), 1, part_ * ranks_, part_ * ranks_},
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

  /// Whether every rank has what it should.
  [[nodiscard]] bool right() {
    machine::Buffer<std::uint64_t> words(part_ * ranks_ / 8);
    device::download(matrix_view(to_.data(), 1, part_ * ranks_),
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
  device::Block from_;
  mpi::PeerMemory to_;
  std::vector<std::unique_ptr<device::Stream>> streams_;
};

class Bench {
 public:
  Bench(const Communicator& comm, bool quick) : comm_(comm), quick_(quick), ways_(find_ways(comm)) {}

  void links() {
    Table table({"all-to-all by", "a rank", "median", "GB/s a rank", "GB/s a GPU and direction", "checked"});
    for (const DeviceExchange& exchange : ways_.all) {
      for (const index_t mib :
           quick_ ? std::vector<index_t>{64} : std::vector<index_t>{16, 256, 1024, 4096}) {
        if (mib > 1024 && exchange.way() == DeviceWay::staged) continue;
        AllToAll all(exchange, mib << 20);
        const double seconds = median_seconds(comm_, repetitions(exchange), [&] { all.run(); });
        const double travels = all.bytes() * (comm_.size() - 1) / comm_.size() * sharing();
        table.add({std::string(name(exchange.way())), human_bytes(all.bytes()), human_seconds(seconds),
                   gb_per_s(all.bytes(), seconds), gb_per_s(travels, seconds), verdict(all.right())});
      }
    }
    show(table);
  }

  void transposes() {
    namespace dt = dist::transpose;
    Table table(
        {"transpose f64 by", "n", "own part", "median", "GB/s a rank", "of the all-to-all", "checked"});
    for (const index_t n : quick_ ? std::vector<index_t>{4096} : std::vector<index_t>{16384, 24576, 32768}) {
      const layout::MatrixLayout rows = layout::row_blocks(n, n, comm_.size());
      const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(n) / comm_.size();
      double best = 0;
      for (const DeviceExchange& exchange : ways_.all) {
        AllToAll all(exchange, static_cast<index_t>(bytes));
        const double seconds = median_seconds(comm_, repetitions(exchange), [&] { all.run(); });
        if (best == 0 || seconds < best) best = seconds;
      }
      for (const DeviceExchange& exchange : ways_.all) {
        for (const auto& [own, called] : {std::pair{dt::OwnPart::last, "last"},
                                          {dt::OwnPart::first, "first"},
                                          {dt::OwnPart::ahead, "ahead"}}) {
          if (own != dt::OwnPart::last && !exchange.reaches()) continue;
          dt::DeviceTranspose there(exchange, {rows, dt::Op::transpose, rows, 8}, {}, own);
          fill(there, n, rows.of(comm_.rank()));
          mpi::Phases phases;
          const double seconds = median_seconds(comm_, repetitions(exchange), [&] { there.run(phases); });
          table.add({std::string(name(exchange.way())), std::to_string(n), called, human_seconds(seconds),
                     gb_per_s(bytes, seconds), fmt::format("{:.3f}", best / seconds),
                     verdict(is_transpose(there, n, rows.of(comm_.rank())))});
        }
      }
    }
    show(table);
  }

  void products() {
    Table table({"product f64 by", "n", "GPUs", "panels", "median", "TFLOP/s", "times one", "checked"});
    const index_t n = quick_ ? 4096 : 32768;
    const double one = alone(table, n);
    for (const DeviceExchange& exchange : ways_.all) {
      for (const index_t panel : {index_t{512} << 20, index_t{2} << 30})
        product(table, exchange, n, panel, one);
    }
    show(table);
  }

  [[nodiscard]] bool right() const { return right_; }

 private:
  [[nodiscard]] int repetitions(const DeviceExchange& exchange) const {
    return quick_ || exchange.way() == DeviceWay::staged ? 3 : 9;
  }
  /// Ranks of a GPU.
  [[nodiscard]] int sharing() const {
    const auto devices = static_cast<int>(machine::gpus().devices.size());
    return (comm_.node().size() + devices - 1) / devices;
  }
  std::string verdict(bool right) {
    right_ = right_ && right;
    return right ? "right" : "WRONG";
  }
  void show(const Table& table) const {
    if (comm_.is_root()) fmt::print("{}\n", table.text());
  }

  static std::uint64_t code(index_t i, index_t j, index_t n) { return random_bits(1, 1, i * n + j); }

  static void fill(dist::transpose::DeviceTranspose& there, index_t n, const layout::Box& box) {
    machine::Buffer<std::uint64_t> a(box.area());
#pragma omp parallel for
    for (index_t i = 0; i < box.rows.size(); ++i)
      for (index_t j = 0; j < n; ++j) a[i * n + j] = code(box.rows.begin + i, j, n);
    there.put({reinterpret_cast<const std::byte*>(a.data()), box.rows.size(), n, n, 8});
  }
  [[nodiscard]] bool is_transpose(dist::transpose::DeviceTranspose& there, index_t n,
                                  const layout::Box& box) const {
    machine::Buffer<std::uint64_t> b(box.area());
    std::fill(b.begin(), b.end(), 0);
    there.get({reinterpret_cast<std::byte*>(b.data()), box.rows.size(), n, n, 8});
    index_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (index_t i = 0; i < box.rows.size(); ++i)
      for (index_t j = 0; j < n; ++j) wrong += b[i * n + j] == code(j, box.rows.begin + i, n) ? 0 : 1;
    return comm_.sum(wrong) == 0;
  }

  using Product = dist::matmul::DeviceProduct<double>;

  static double element(std::uint64_t stream, index_t n, index_t i, index_t j) {
    return random_symmetric<double>(1, stream, i * n + j);
  }
  static machine::Buffer<double> rows_of(std::uint64_t stream, index_t n, const layout::Range& rows) {
    machine::Buffer<double> x(rows.size() * n);
#pragma omp parallel for
    for (index_t i = 0; i < rows.size(); ++i)
      for (index_t j = 0; j < n; ++j) x[i * n + j] = element(stream, n, rows.begin + i, j);
    return x;
  }

  /// Seconds of a product on the ranks of the exchange, and whether samples of it are right on all of them.
  std::pair<double, bool> timed(const DeviceExchange& exchange, index_t n, index_t panel) {
    const Communicator& comm = exchange.comm();
    const layout::Range rows = layout::BlockMap(n, comm.size()).range(comm.rank());
    Product product(exchange, {.m = n, .n = n, .k = n}, {.threads = 8}, panel);
    {
      const auto a = rows_of(1, n, rows);
      product.put_a(matrix_view(a.data(), rows.size(), n));
    }
    auto x = rows_of(2, n, rows);
    product.put_b(matrix_view<const double>(x.data(), rows.size(), n));
    mpi::Phases phases;
    const double seconds = median_seconds(comm, quick_ ? 3 : 5, [&] { product.run(phases); });
    product.get_c(matrix_view(x.data(), rows.size(), n));
    index_t wrong = 0;
    for (std::uint64_t s = 0; s < 64; ++s) {
      const auto i = static_cast<index_t>(random_bits(3, 1, static_cast<index_t>(s)) %
                                          static_cast<std::uint64_t>(std::max<index_t>(1, rows.size())));
      const auto j =
          static_cast<index_t>(random_bits(3, 2, static_cast<index_t>(s)) % static_cast<std::uint64_t>(n));
      if (rows.empty()) break;
      double want = 0, bound = 0;
      for (index_t k = 0; k < n; ++k) {
        const double term = element(1, n, rows.begin + i, k) * element(2, n, k, j);
        want += term;
        bound += std::abs(term);
      }
      wrong += std::abs(x[i * n + j] - want) <= 1e-14 * bound ? 0 : 1;
    }
    return {seconds, comm.sum(wrong) == 0};
  }

  static std::string tflops(index_t n, double seconds) {
    const auto real = static_cast<double>(n);
    return fmt::format("{:.1f}", 2 * real * real * real / seconds / 1e12);
  }

  /// The root alone, while the others wait.
  double alone(Table& table, index_t n) {
    double seconds = 0;
    bool right = true;
    if (comm_.is_root())
      std::tie(seconds, right) = timed(DeviceExchange(Communicator::self(), DeviceWay::ipc), n, 0);
    seconds = comm_.max(seconds);
    table.add({"-", std::to_string(n), "1", "-", human_seconds(seconds), tflops(n, seconds), "1",
               verdict(comm_.sum(index_t{right ? 0 : 1}) == 0)});
    return seconds;
  }
  void product(Table& table, const DeviceExchange& exchange, index_t n, index_t panel, double one) {
    const auto [seconds, right] = timed(exchange, n, panel);
    const int gpus = comm_.size() / sharing();
    table.add({std::string(name(exchange.way())), std::to_string(n), std::to_string(gpus),
               human_bytes(static_cast<double>(panel)), human_seconds(seconds), tflops(n, seconds),
               fmt::format("{:.3f}", one / seconds), verdict(right)});
  }

  Communicator comm_;
  bool quick_;
  Ways ways_;
  bool right_ = true;
};

constexpr int skipped = 77;

ExitCode run(const Communicator& comm, const std::vector<std::string_view>& words) {
  const auto& gpus = machine::gpus();
  if (comm.max(index_t{gpus.devices.empty() ? 1 : 0}) == 1) {
    if (comm.is_root()) fmt::print("skipped: {}\n", gpus.reason);
    return static_cast<ExitCode>(skipped);
  }
  machine::use_gpu(comm.node().rank());
  if (comm.is_root())
    fmt::print("{} ranks, {} x {}\n", comm.size(), gpus.devices.size(), gpus.devices.front().name);
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool quick = has("--quick"), all = !has("links") && !has("transpose") && !has("matmul");
  Bench bench(comm, quick);
  if (all || has("links")) bench.links();
  if (all || has("transpose")) bench.transposes();
  if (all || has("matmul")) bench.products();
  if (!bench.right() && comm.is_root()) fmt::print("WRONG results above\n");
  return bench.right() ? ExitCode::ok : ExitCode::verification;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return tessera::mpi::run_main(
      &argc, &argv, [&](const tessera::mpi::Communicator& comm) { return tessera::run(comm, words); });
}
