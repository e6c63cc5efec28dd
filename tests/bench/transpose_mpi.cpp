// Distributed transposes of a square f64 matrix: Tessera from row blocks to row blocks as in the
// command, pdtran of ScaLAPACK at several block sizes on the most square grid, FFTW's MPI transpose
// with a measured plan. Bytes count one read plus one write for all.

#include <fftw3-mpi.h>
#include <fmt/core.h>

#include "base/random.hpp"
#include "base/table.hpp"
#include "bench/bench.hpp"
#include "bench/options.hpp"
#include "bench/scalapack.hpp"
#include "dist/transpose/transpose.hpp"
#include "machine/fork_join.hpp"
#include "mpi/runtime.hpp"

namespace tessera::bench {
namespace {

using dist::DistributedRecords;
using dist::transpose::Algorithm;

struct Ours {
  DistributedRecords a, b;
  Algorithm algorithm;

  Ours(const mpi::Communicator& comm, index_t n) {
    const auto rows = layout::row_blocks(n, n, comm.size());
    const mpi::Communicator node = comm.node();
    algorithm = node.size() > 1 ? Algorithm::shared : Algorithm::pairwise;
    a = DistributedRecords(comm, rows, 8);
    b = algorithm == Algorithm::shared ? DistributedRecords(comm, rows, 8, node)
                                       : DistributedRecords(comm, rows, 8);
    auto* const values = reinterpret_cast<double*>(a.view().data);
    for (index_t i = 0; i < a.box().area(); ++i) values[i] = value_at(a.box().rows.begin * n + i);
  }

  static double value_at(index_t position) { return random_symmetric<double>(1, 1, position); }

  void run(const mpi::Communicator& comm) {
    mpi::Phases phases;
    dist::transpose::transpose_matrix(comm, {.a = a, .b = b},
                                      {.algorithm = algorithm, .tuning = {.threads = 1}}, phases);
  }

  void check() const {
    const auto* const values = reinterpret_cast<const double*>(b.view().data);
    const index_t n = b.cols();
    bool right = true;
    for (index_t i = 0; i < b.box().rows.size(); ++i) {
      for (index_t j = 0; j < n; ++j)
        right &= values[i * n + j] == value_at(j * n + b.box().rows.begin + i);
    }
    require(right, ExitCode::verification, "tessera's transpose is wrong");
  }
};

struct Fftw {
  double *in = nullptr, *out = nullptr;
  fftw_plan plan = nullptr;

  explicit Fftw(index_t n) {
    const std::ptrdiff_t shape[] = {n, n};
    std::ptrdiff_t rows = 0, first = 0, cols = 0, first_col = 0;
    const auto size = fftw_mpi_local_size_many_transposed(2, shape, 1, FFTW_MPI_DEFAULT_BLOCK,
                                                          FFTW_MPI_DEFAULT_BLOCK, MPI_COMM_WORLD,
                                                          &rows, &first, &cols, &first_col);
    in = fftw_alloc_real(static_cast<std::size_t>(size));
    out = fftw_alloc_real(static_cast<std::size_t>(size));
    plan = fftw_mpi_plan_transpose(n, n, in, out, MPI_COMM_WORLD, FFTW_MEASURE);
    for (std::ptrdiff_t i = 0; i < rows * n; ++i) in[i] = static_cast<double>(i);
  }
  ~Fftw() {
    fftw_destroy_plan(plan);
    fftw_free(in);
    fftw_free(out);
  }
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;
};

void row(const mpi::Communicator& comm, Table& table, index_t n, double budget) {
  Ours ours(comm, n);
  ours.run(comm);
  ours.check();
  Fftw fftw(n);
  const auto grid_shape = layout::nearest_square(comm.size(), n, n);
  const BlacsGrid grid(grid_shape.rows, grid_shape.cols);
  std::vector<std::pair<BlockCyclic, BlockCyclic>> blocks;
  const std::vector<index_t> sizes{32, 64, 128, 256};
  for (const index_t block : sizes)
    blocks.emplace_back(BlockCyclic(grid, n, n, block, 1), BlockCyclic(grid, n, n, block, 0));
  const auto barrier = [&] { comm.barrier(); };
  std::vector<Candidate> candidates{{"tessera", [&] { ours.run(comm); }, barrier},
                                    {"FFTW", [&] { fftw_execute(fftw.plan); }, barrier}};
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    candidates.push_back({"pdtran",
                          [&, s] {
                            const int ni = static_cast<int>(n), one = 1;
                            const double alpha = 1, beta = 0;
                            auto& [a, c] = blocks[s];
                            pdtran_(&ni, &ni, &alpha, a.data.data(), &one, &one,
                                    a.descriptor.data(), &beta, c.data.data(), &one, &one,
                                    c.descriptor.data());
                          },
                          barrier});
  }
  const auto seconds =
      interleaved(candidates, 15, budget, [&](double mine) { return comm.max(mine); });
  const double bytes = 16.0 * static_cast<double>(n) * static_cast<double>(n);
  std::size_t best = 2;
  for (std::size_t s = 2; s < seconds.size(); ++s)
    best = seconds[s].median < seconds[best].median ? s : best;
  const auto rate = [&](std::size_t which) { return 1e-9 * bytes / seconds[which].median; };
  table.add({std::to_string(n), std::to_string(comm.size()), fmt::format("{:.2f}", rate(0)),
             fmt::format("{:.2f}", rate(1)), fmt::format("{:.2f}", rate(best)),
             std::to_string(sizes[best - 2]), fmt::format("{:.2f}", rate(0) / rate(1)),
             fmt::format("{:.2f}", rate(0) / rate(best))});
}

ExitCode run(const mpi::Communicator& comm, int argc, char** argv) {
  bool quick = false;
  std::vector<index_t> sizes;
  CLI::App app("ours against FFTW's transpose and ScaLAPACK's pdtran, between ranks");
  app.add_flag("--quick", quick, "less time a row, two sizes");
  app.add_option("--n", sizes, "rows and columns")->delimiter(',')->check(CLI::PositiveNumber);
  if (const auto code = leave_after(app, argc, argv, comm.is_root() ? Rank::root : Rank::other))
    return *code;
  if (sizes.empty())
    sizes = quick ? std::vector<index_t>{4000, 4096}
                  : std::vector<index_t>{2000, 4000, 4096, 8000, 8192};
  machine::set_default_threads(1);
  fftw_mpi_init();
  Table table({"n", "ranks", "tessera", "FFTW-MPI", "pdtran", "block", "/FFTW-MPI", "/pdtran"});
  for (const index_t n : sizes) row(comm, table, n, quick ? 2 : 8);
  if (comm.is_root())
    fmt::print("Distributed transpose, f64, medians in GB/s, one thread a rank\n{}", table.text());
  return ExitCode::ok;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::bench::run(comm, argc, argv);
  });
}
