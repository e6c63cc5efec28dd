// Communication between GPUs, under mpirun: bandwidth of the links, and its use by transposes,
// plans of relayouts and permutations, products, sorts and stencils on resident data. Seconds are
// medians of the slowest rank's; results are checked.
//
//   mpirun -n 2 --bind-to none exchange_gpu [--quick] [links] [transpose] [plans] [matmul] [sort]
//     [stencil]

#include <string_view>

#include "dist/transpose/on_devices.hpp"
#include "exchange_bench.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"

namespace tessera::exchange_bench {
namespace {

std::vector<DeviceExchange> find_ways(const Communicator& comm) {
  std::vector<DeviceExchange> transports;
  for (const DeviceTransport transport : mpi::device_transports) {
    try {
      const Timer timer;
      transports.push_back(DeviceExchange::choose(comm, std::string(name(transport))));
      if (comm.is_root())
        fmt::print("{}: found in {}\n", name(transport), human_seconds(timer.seconds()));
    } catch (const Error& error) {
      if (comm.is_root()) fmt::print("{}: {}\n", name(transport), error.what());
    }
  }
  const DeviceExchange chosen = DeviceExchange::choose(comm, "auto");
  if (comm.is_root()) fmt::print("auto: {}\n\n", chosen.text());
  return transports;
}

void links(Bench& bench) {
  Table table(
      {"all-to-all by", "a rank", "median", "GB/s a rank", "GB/s a GPU and direction", "checked"});
  for (const DeviceExchange& exchange : bench.transports) {
    for (const index_t mib :
         bench.quick ? std::vector<index_t>{64} : std::vector<index_t>{16, 256, 1024, 4096}) {
      if (mib > 1024 && exchange.transport() == DeviceTransport::staged) continue;
      AllToAll all(exchange, mib << 20);
      const double seconds =
          median_seconds(bench.comm, bench.repetitions(exchange), [&] { all.run(); });
      const double travels =
          all.bytes() * (bench.comm.size() - 1) / bench.comm.size() * bench.sharing();
      table.add({std::string(name(exchange.transport())), human_bytes(all.bytes()),
                 human_seconds(seconds), gb_per_s(all.bytes(), seconds), gb_per_s(travels, seconds),
                 bench.verdict(all.right())});
    }
  }
  bench.show(table);
}

std::uint64_t code(index_t i, index_t j, index_t n) { return random_bits(1, 1, i * n + j); }

void fill(dist::transpose::DeviceTranspose& there, index_t n, const layout::Box& box) {
  machine::Buffer<std::uint64_t> a(box.area());
#pragma omp parallel for
  for (index_t i = 0; i < box.rows.size(); ++i)
    for (index_t j = 0; j < n; ++j) a[i * n + j] = code(box.rows.begin + i, j, n);
  there.put({reinterpret_cast<const std::byte*>(a.data()), box.rows.size(), n, n, 8});
}
[[nodiscard]] bool is_transpose(const Communicator& comm, dist::transpose::DeviceTranspose& there,
                                index_t n, const layout::Box& box) {
  machine::Buffer<std::uint64_t> b(box.area());
  std::fill(b.begin(), b.end(), 0);
  there.get({reinterpret_cast<std::byte*>(b.data()), box.rows.size(), n, n, 8});
  index_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (index_t i = 0; i < box.rows.size(); ++i)
    for (index_t j = 0; j < n; ++j) wrong += b[i * n + j] == code(j, box.rows.begin + i, n) ? 0 : 1;
  return comm.sum(wrong) == 0;
}

void transposes(Bench& bench) {
  namespace dt = dist::transpose;
  Table table({"transpose f64 by", "n", "own part", "median", "GB/s a rank", "of the all-to-all",
               "checked"});
  for (const index_t n :
       bench.quick ? std::vector<index_t>{4096} : std::vector<index_t>{16384, 24576, 32768}) {
    const layout::MatrixLayout rows = layout::row_blocks(n, n, bench.comm.size());
    const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(n) / bench.comm.size();
    double best = 0;
    for (const DeviceExchange& exchange : bench.transports) {
      AllToAll all(exchange, static_cast<index_t>(bytes));
      const double seconds =
          median_seconds(bench.comm, bench.repetitions(exchange), [&] { all.run(); });
      if (best == 0 || seconds < best) best = seconds;
    }
    for (const DeviceExchange& exchange : bench.transports) {
      for (const auto& [own, called] : {std::pair{dt::OwnPart::last, "last"},
                                        {dt::OwnPart::first, "first"},
                                        {dt::OwnPart::ahead, "ahead"}}) {
        if (own != dt::OwnPart::last && !exchange.reaches()) continue;
        dt::DeviceTranspose there(exchange, {rows, dt::Op::transpose, rows, 8}, {}, own);
        fill(there, n, rows.of(bench.comm.rank()));
        mpi::Phases phases;
        const double seconds =
            median_seconds(bench.comm, bench.repetitions(exchange), [&] { there.run(phases); });
        table.add({std::string(name(exchange.transport())), std::to_string(n), called,
                   human_seconds(seconds), gb_per_s(bytes, seconds),
                   fmt::format("{:.3f}", best / seconds),
                   bench.verdict(is_transpose(bench.comm, there, n, rows.of(bench.comm.rank())))});
      }
    }
  }
  bench.show(table);
}

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
  const bool all =
      std::all_of(words.begin(), words.end(), [](auto word) { return word.starts_with("--"); });
  Bench bench{comm, has("--quick"), find_ways(comm)};
  if (all || has("links")) links(bench);
  if (all || has("transpose")) transposes(bench);
  if (all || has("plans")) plans(bench);
  if (all || has("matmul")) products(bench);
  if (all || has("sort")) sorts(bench);
  if (all || has("stencil")) stencils(bench);
  if (!bench.right && comm.is_root()) fmt::print("WRONG results above\n");
  return bench.right ? ExitCode::ok : ExitCode::verification;
}

}  // namespace
}  // namespace tessera::exchange_bench

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::exchange_bench::run(comm, words);
  });
}
