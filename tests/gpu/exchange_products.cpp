// Products with resident operands, on all GPUs and on one.

#include <cmath>
#include <tuple>

#include "dist/matmul/on_devices.hpp"
#include "exchange_bench.hpp"

namespace tessera::exchange_bench {
namespace {

using Product = dist::matmul::DeviceProduct<double>;

double element(std::uint64_t stream, index_t n, index_t i, index_t j) {
  return random_symmetric<double>(1, stream, i * n + j);
}
machine::Buffer<double> rows_of(std::uint64_t stream, index_t n, const layout::Range& rows) {
  machine::Buffer<double> x(rows.size() * n);
#pragma omp parallel for
  for (index_t i = 0; i < rows.size(); ++i)
    for (index_t j = 0; j < n; ++j) x[i * n + j] = element(stream, n, rows.begin + i, j);
  return x;
}

/// Returns the seconds of a product on the ranks of the exchange, and whether samples of it are
/// correct on all of them.
std::pair<double, bool> timed(const Bench& bench, const DeviceExchange& exchange, index_t n,
                              index_t panel) {
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
  const double seconds = median_seconds(comm, bench.quick ? 3 : 5, [&] { product.run(phases); });
  product.get_c(matrix_view(x.data(), rows.size(), n));
  index_t wrong = 0;
  for (std::uint64_t s = 0; s < 64; ++s) {
    const auto i =
        static_cast<index_t>(random_bits(3, 1, static_cast<index_t>(s)) %
                             static_cast<std::uint64_t>(std::max<index_t>(1, rows.size())));
    const auto j = static_cast<index_t>(random_bits(3, 2, static_cast<index_t>(s)) %
                                        static_cast<std::uint64_t>(n));
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

std::string tflops(index_t n, double seconds) {
  const auto real = static_cast<double>(n);
  return fmt::format("{:.1f}", 2 * real * real * real / seconds / 1e12);
}

/// Runs on the root only, while the others wait.
double alone(Bench& bench, Table& table, index_t n) {
  double seconds = 0;
  bool right = true;
  if (bench.comm.is_root())
    std::tie(seconds, right) =
        timed(bench, DeviceExchange(Communicator::self(), DeviceTransport::ipc), n, 0);
  seconds = bench.comm.max(seconds);
  table.add({"-", std::to_string(n), "1", "-", human_seconds(seconds), tflops(n, seconds), "1",
             bench.verdict(bench.comm.sum(index_t{right ? 0 : 1}) == 0)});
  return seconds;
}
void product(Bench& bench, Table& table, const DeviceExchange& exchange, index_t n, index_t panel,
             double one) {
  const auto [seconds, right] = timed(bench, exchange, n, panel);
  const int gpus = bench.comm.size() / bench.sharing();
  table.add({std::string(name(exchange.transport())), std::to_string(n), std::to_string(gpus),
             human_bytes(static_cast<double>(panel)), human_seconds(seconds), tflops(n, seconds),
             fmt::format("{:.3f}", one / seconds), bench.verdict(right)});
}

}  // namespace

void products(Bench& bench) {
  Table table(
      {"product f64 by", "n", "GPUs", "panels", "median", "TFLOP/s", "times one", "checked"});
  const index_t n = bench.quick ? 4096 : 32768;
  const double one = alone(bench, table, n);
  for (const DeviceExchange& exchange : bench.transports) {
    for (const index_t panel : {index_t{512} << 20, index_t{2} << 30})
      product(bench, table, exchange, n, panel, one);
  }
  bench.show(table);
}

}  // namespace tessera::exchange_bench
