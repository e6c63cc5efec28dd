// Distributed f64 products: Tessera from row blocks to row blocks as in the command, and pdgemm of
// ScaLAPACK on block-cyclic matrices with the best of several grids and block sizes. The reference
// is as many register-only fma as the product has, on all ranks: no product is faster.
// bench_matmul_mpi [--quick] [square | deep | tall | flat]

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <cstdio>

#include "bench/bench.hpp"
#include "bench/peers_matmul.hpp"
#include "bench/scalapack.hpp"
#include "dist/matmul/freivalds.hpp"
#include "kernels/memory/probe_leaf.hpp"
#include "machine/fork_join.hpp"
#include "mpi/runtime.hpp"

namespace tessera::bench {
namespace {

using dist::DistributedMatrix;

struct Shape {
  const char* name;
  index_t m, n, k;
};

class Ours {
 public:
  Ours(const mpi::Communicator& comm, const Shape& s, dist::matmul::Seen seen)
      : comm_(comm),
        a_(random(s.m, s.k, 1, seen.a)),
        b_(random(s.k, s.n, 2, seen.b)),
        c_(make(s.m, s.n, seen.c)) {}
  void run() {
    mpi::Phases phases;
    multiply(comm_, product(), {.threads = 1}, phases);
  }
  void check() {
    const dist::matmul::Freivalds<double> check(comm_, product(), 1, 1);
    require(check.ratio() <= check.tolerance, ExitCode::verification, "tessera's product is wrong");
  }

 private:
  DistributedMatrix<double> make(index_t rows, index_t cols, bool shared) {
    const auto homes = layout::row_blocks(rows, cols, comm_.size());
    return shared ? DistributedMatrix<double>(comm_, homes, comm_.node())
                  : DistributedMatrix<double>(comm_, homes);
  }
  DistributedMatrix<double> random(index_t rows, index_t cols, std::uint64_t stream, bool shared) {
    auto x = make(rows, cols, shared);
    fill_random(x, 1, stream);
    return x;
  }
  dist::matmul::Product<double> product() {
    return {1.0, a_, dist::matmul::Op::none, b_, dist::matmul::Op::none, 0.0, c_};
  }
  const mpi::Communicator& comm_;
  DistributedMatrix<double> a_, b_, c_;
};

/// pdgemm on one grid with one block size.
class Pdgemm {
 public:
  Pdgemm(layout::ProcessGrid grid, index_t block, const Shape& s)
      : shape_(s),
        block_(block),
        grid_(grid.rows, grid.cols),
        a_(grid_, s.m, s.k, block, 1),
        b_(grid_, s.k, s.n, block, 0.5),
        c_(grid_, s.m, s.n, block, 0) {}
  void run() {
    const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n),
              k = static_cast<int>(shape_.k);
    const int one = 1;
    const double alpha = 1, beta = 0;
    pdgemm_("N", "N", &m, &n, &k, &alpha, a_.data.data(), &one, &one, a_.descriptor.data(),
            b_.data.data(), &one, &one, b_.descriptor.data(), &beta, c_.data.data(), &one, &one,
            c_.descriptor.data());
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} x {}, {}", grid_.rows_, grid_.cols_, block_);
  }

 private:
  Shape shape_;
  index_t block_;
  BlacsGrid grid_;
  BlockCyclic a_, b_, c_;
};

/// Executes this rank's share of the arithmetic, in registers.
void fma_alone(const mpi::Communicator& comm, const Shape& s) {
  const memory::ProbeKernels& kernels = memory::probe_kernels(machine::isa());
  const index_t share = 2 * s.m * s.n * s.k / comm.size();
  double sink = 1;
  for (index_t done = 0; done < share;) done += kernels.fma_f64(2000, &sink);
  comm.barrier();
}

struct Setting {
  layout::ProcessGrid grid;
  index_t block;
};

/// Returns the setting with the shortest of two runs, or of one if that is long.
Setting best_setting(const mpi::Communicator& comm, const Shape& s) {
  const index_t ranks = comm.size();
  const layout::ProcessGrid near = layout::nearest_square(ranks, s.m, s.n);
  std::vector<layout::ProcessGrid> grids{near};
  for (const layout::ProcessGrid grid : {layout::ProcessGrid{ranks, 1}, {1, ranks}})
    if (grid.rows != near.rows) grids.push_back(grid);
  Setting best{near, 64};
  double least = 1e300;
  for (const layout::ProcessGrid grid : grids) {
    for (const index_t block : {64, 128, 256}) {
      Pdgemm peer(grid, block, s);
      for (int time = 0; time < 2; ++time) {
        comm.barrier();
        const Timer timer;
        peer.run();
        const double seconds = comm.max(timer.seconds());
        if (seconds < least) best = {grid, block};
        least = std::min(least, seconds);
        if (seconds > 0.5) break;  // long enough to be significant
      }
    }
  }
  return best;
}

using Row = std::array<std::string, 14>;
constexpr std::array<int, 14> widths{6, 20, 5, 7, 6, 6, 11, 7, 7, 6, 7, 9, 7, 7};

/// Times Tessera as in the command on a node, with node-shared matrices, and as between nodes.
Row row(const mpi::Communicator& comm, const Shape& s, double budget) {
  const auto seen =
      dist::matmul::what_to_share({.m = s.m, .n = s.n, .k = s.k, .ranks = comm.size()}, {});
  Ours ours(comm, s, seen), apart(comm, s, {});
  for (Ours* each : {&ours, &apart}) {
    each->run();
    each->check();
  }
  const Setting setting = best_setting(comm, s);
  Pdgemm peer(setting.grid, setting.block, s);
  const auto barrier = [&] { comm.barrier(); };
  const auto seconds = interleaved({{"tessera", [&] { ours.run(); }, barrier},
                                    {"apart", [&] { apart.run(); }, barrier},
                                    {"pdgemm", [&] { peer.run(); }, barrier},
                                    {"fma", [&] { fma_alone(comm, s); }, barrier}},
                                   25, budget, [&](double mine) { return comm.max(mine); });
  const double flops =
      2e-9 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const auto rate = [&](std::size_t which) {
    return fmt::format("{:.1f}", flops / seconds[which].median);
  };
  const auto ratio = [&](std::size_t which, double Summary::*of) {
    return fmt::format("{:.2f}", seconds[2].*of / seconds[which].*of);
  };
  return {s.name,
          fmt::format("{} x {} x {}", s.m, s.n, s.k),
          std::to_string(comm.size()),
          rate(0),
          rate(1),
          rate(2),
          peer.text(),
          ratio(0, &Summary::median),
          ratio(0, &Summary::q1),
          ratio(1, &Summary::median),
          ratio(1, &Summary::q1),
          rate(3),
          ratio(3, &Summary::median),
          ratio(3, &Summary::q1)};
}

/// Runs the shapes of the given name, or all.
ExitCode run(const mpi::Communicator& comm, bool quick, std::string_view only) {
  machine::set_default_threads(1);
  if (auto* const set =
          reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")))
    set(1);
  std::vector<Shape> shapes{{"square", 2048, 2048, 2048},
                            {"deep", 256, 256, 131072},
                            {"tall", 131072, 128, 256},
                            {"flat", 4096, 4096, 128}};
  if (!quick) {
    shapes.insert(shapes.begin() + 1, {"square", 4096, 4096, 4096});
    shapes.push_back({"deep", 128, 128, 1000000});
  }
  const auto line = [&](const Row& cells) {
    if (!comm.is_root()) return;
    for (std::size_t at = 0; at < cells.size(); ++at) fmt::print("{:>{}}  ", cells[at], widths[at]);
    fmt::print("\n");
    std::fflush(stdout);  // prints each row at once: the next may take a minute
  };
  if (comm.is_root())
    fmt::print(
        "Distributed products, f64, medians in GFLOP/s, one thread a rank; ratios of medians and "
        "of lower "
        "quartiles\n");
  line({"shape", "m x n x k", "ranks", "tessera", "apart", "pdgemm", "grid, block", "/pdgemm",
        "quarter", "apart", "quarter", "fma alone", "/pdgemm", "quarter"});
  for (const Shape& shape : shapes)
    if (only.empty() || only == shape.name) line(row(comm, shape, quick ? 1 : 10));
  return ExitCode::ok;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::choose_kernels_of_peers(argv);
  bool quick = false;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick") {
      quick = true;
    } else {
      only = argv[i];
    }
  }
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::bench::run(comm, quick, only);
  });
}
