#include "lab/locality/gpu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "kernels/matmul/sweep.hpp"
#include "kernels/stencil/remap.hpp"
#include "kernels/stencil/stencil.hpp"
#include "lab/locality/set_associative.hpp"

namespace tessera::inline v1::locality {
namespace {

constexpr index_t lanes = 32;
constexpr index_t nothing = -1;  // address of an inactive lane

/// Load instruction of a warp: the lanes' byte addresses in one array.
struct WarpLoad {
  unsigned array = 0;
  std::array<index_t, lanes> at;
};

/// A kernel as a sequence of loads per warp, one per step.
struct WarpProgram {
  std::vector<std::string> arrays;
  std::vector<index_t> bytes;  ///< of the arrays
  index_t blocks = 0, block = 0, steps = 0;
  /// Sets the load of (first thread of the warp, step); threads are numbered through all blocks.
  std::function<void(index_t, index_t, WarpLoad&)> load;
  std::string formula = {};
  double predicted = 0;
};

/// Cells in the order of `walk`, one per thread; alternating loads of A and B along k.
WarpProgram matmul_by_cells(const Problem& p, matmul::Walk walk, index_t block) {
  const index_t cells = p.m * p.n, size = p.element_bytes;
  return {.arrays = {"a", "b"},
          .bytes = {p.m * p.k * size, p.k * p.n * size},
          .blocks = ceil_div(cells, block),
          .block = block,
          .steps = 2 * p.k,
          .load = [=, width = p.column_width](index_t first, index_t step, WarpLoad& load) {
            load.array = step % 2 == 0 ? 0 : 1;
            for (index_t lane = 0; lane < lanes; ++lane) {
              auto& at = load.at[static_cast<std::size_t>(lane)];
              at = nothing;
              if (first + lane >= cells) continue;
              const matmul::Cell cell = matmul::cell_of(walk, first + lane, p.m, p.n, width);
              at = size * (step % 2 == 0 ? cell.i * p.k + step / 2 : step / 2 * p.n + cell.j);
            }
          }};
}

/// Sets the predicted fetches F of a product cell by cell, in sectors of `line` elements: a block
/// of w columns and h rows of C fetches h rows of A and w columns of B, fewest for w = h. Blocks of
/// a multiprocessor may share them.
void predict_cells(WarpProgram& program, const Problem& p, matmul::Walk walk, double line) {
  const auto threads = static_cast<double>(program.block), n = static_cast<double>(p.n);
  const double width =
      std::min({walk == matmul::Walk::rows ? n : static_cast<double>(p.column_width), n, threads});
  const double height = std::min(threads / width, static_cast<double>(p.m));
  program.formula = "mnk/L (1/w + w/T) at most; w: --column-width, naive n; T: --block";
  program.predicted =
      static_cast<double>(p.m) * n * static_cast<double>(p.k) / line * (1 / width + 1 / height);
}

/// Tiles in shared memory: a thread loads one element of each tile.
WarpProgram matmul_by_tiles(const Problem& p) {
  const index_t tile = p.tile, size = p.element_bytes;
  return {.arrays = {"a", "b"},
          .bytes = {p.m * p.k * size, p.k * p.n * size},
          .blocks = ceil_div(p.m, tile) * ceil_div(p.n, tile),
          .block = tile * tile,
          .steps = 2 * ceil_div(p.k, tile),
          .load =
              [=](index_t first, index_t step, WarpLoad& load) {
                load.array = step % 2 == 0 ? 0 : 1;
                const matmul::Cell corner = matmul::tile_corner(first / (tile * tile), p.n, tile);
                for (index_t lane = 0; lane < lanes; ++lane) {
                  const index_t thread = first % (tile * tile) + lane;
                  const index_t x = thread % tile, y = thread / tile, along = step / 2 * tile;
                  const index_t i = load.array == 0 ? corner.i + y : along + y;
                  const index_t j = load.array == 0 ? along + x : corner.j + x;
                  const bool inside = load.array == 0 ? i < p.m && j < p.k : i < p.k && j < p.n;
                  load.at[static_cast<std::size_t>(lane)] =
                      inside ? size * (i * (load.array == 0 ? p.k : p.n) + j) : nothing;
                }
              },
          .formula = "2mnk/(sL), s: the tile",
          .predicted = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                       static_cast<double>(p.k) / static_cast<double>(tile)};
}

/// Column-based iteration fetches each c-wide column of the image once, with its border. The naive
/// sweep is a single column, whose rows are fetched again for every row of the stencil unless they
/// stay resident.
WarpProgram stencil_by_points(const Problem& p, stencil::Order walk, index_t block) {
  const stencil::Stencil s = stencil::named_stencil(p.stencil.empty() ? "box9x9" : p.stencil, 2);
  const index_t points = p.m * p.n, size = p.element_bytes;
  const index_t rx = s.radius[2], ry = s.radius[1], pitch = round_up(p.n + 2 * rx, 32);
  return {.arrays = {"u"},
          .bytes = {(p.m + 2 * ry) * pitch * size},
          .blocks = ceil_div(points, block),
          .block = block,
          .steps = static_cast<index_t>(s.taps.size()),
          .load = [=, width = p.column_width](index_t first, index_t step, WarpLoad& load) {
            const stencil::Tap& tap = s.taps[static_cast<std::size_t>(step)];
            for (index_t lane = 0; lane < lanes; ++lane) {
              auto& at = load.at[static_cast<std::size_t>(lane)];
              at = nothing;
              if (first + lane >= points) continue;
              const stencil::Place place = stencil::place_of(walk, first + lane, width, p.n, p.m);
              at = size * ((place.y + ry + tap.offset[1]) * pitch + place.x + rx + tap.offset[2]);
            }
          }};
}

/// Sets the predicted fetches F of a sweep, in sectors of `line` elements.
void predict_sweep(WarpProgram& program, const Problem& p, stencil::Order walk, double line) {
  const stencil::Stencil s = stencil::named_stencil(p.stencil.empty() ? "box9x9" : p.stencil, 2);
  const double across = 2 * static_cast<double>(s.radius[2]) + 1,
               down = 2 * static_cast<double>(s.radius[1]) + 1;
  const auto wide = static_cast<double>(p.n), high = static_cast<double>(p.m);
  if (walk == stencil::Order::rows) {
    program.formula = "ceil((I_w + S_w)/L) I_h S_h";
    program.predicted = std::ceil((wide + across) / line) * high * down;
    return;
  }
  const auto c = static_cast<double>(p.column_width);
  program.formula = "ceil(I_w/c) ceil((c + S_w)/L) (I_h + S_h), c: --column-width";
  program.predicted = std::ceil(wide / c) * std::ceil((c + across) / line) * (high + down);
}

/// Warps of one multiprocessor and its first-level cache.
struct Multiprocessor {
  struct Warp {
    index_t first, step;
  };
  Cache l1;
  std::vector<Warp> warps;
  std::size_t turn = 0;
};

class Machine {
 public:
  Machine(const SimulatedGpu& gpu, const WarpProgram& program)
      : gpu_(gpu),
        program_(program),
        l2_({.bytes = gpu.l2_bytes, .ways = 16, .line_bytes = gpu.sector_bytes}) {
    index_t base = 0;
    for (const index_t bytes : program.bytes) {
      bases_.push_back(base);
      base += round_up(bytes, 4096);
    }
    counts_.resize(program.arrays.size());
    resident_ = std::clamp<index_t>(gpu.threads / program.block, 1, gpu.blocks);
    const Geometry l1{.bytes = gpu.l1_bytes, .ways = 8, .line_bytes = gpu.sector_bytes};
    for (index_t i = 0; i < gpu.multiprocessors; ++i) all_.push_back({Cache(l1), {}, 0});
  }

  std::vector<GpuCounts> run() {
    for (index_t round = 0; round < resident_; ++round) {
      for (Multiprocessor& one : all_) start_block(one);
    }
    for (bool busy = true; busy;) {
      busy = false;
      for (Multiprocessor& one : all_) busy = advance(one) || busy;
    }
    return counts_;
  }

 private:
  void start_block(Multiprocessor& one) {
    if (next_block_ == program_.blocks) return;
    const index_t first = next_block_++ * program_.block;
    for (index_t thread = 0; thread < program_.block; thread += lanes)
      one.warps.push_back({first + thread, 0});
  }

  /// Executes one load of the next warp; a finished block is replaced by the next one. Returns
  /// false without warps.
  bool advance(Multiprocessor& one) {
    if (one.warps.empty()) return false;
    if (one.turn >= one.warps.size()) one.turn = 0;
    Multiprocessor::Warp& warp = one.warps[one.turn++];
    if (warp.step < program_.steps) {
      program_.load(warp.first, warp.step++, load_);
      serve(one);
    }
    if (one.turn == one.warps.size()) retire(one);
    return true;
  }

  void retire(Multiprocessor& one) {
    const auto block_of = [&](const Multiprocessor::Warp& w) { return w.first / program_.block; };
    for (std::size_t i = 0; i < one.warps.size();) {
      const auto warps = static_cast<std::size_t>(ceil_div(program_.block, lanes));
      const auto from = one.warps.begin() + static_cast<index_t>(i);
      const bool done = std::all_of(from, from + static_cast<index_t>(warps),
                                    [&](const auto& w) { return w.step == program_.steps; });
      TESSERA_EXPECTS(block_of(*from) == block_of(*(from + static_cast<index_t>(warps) - 1)));
      if (!done) {
        i += warps;
        continue;
      }
      one.warps.erase(from, from + static_cast<index_t>(warps));
      start_block(one);
    }
  }

  /// Requests each distinct sector of a load once. Sets are chosen by a hash, as on GPUs.
  void serve(Multiprocessor& one) {
    std::array<index_t, lanes> sectors;
    std::size_t count = 0;
    for (const index_t at : load_.at) {
      if (at == nothing) continue;
      const index_t sector = (bases_[load_.array] + at) / gpu_.sector_bytes;
      const auto end = sectors.begin() + static_cast<index_t>(count);
      if (count > 0 && *(end - 1) == sector) continue;
      if (std::find(sectors.begin(), end, sector) == end) sectors[count++] = sector;
    }
    GpuCounts& c = counts_[load_.array];
    c.requests += static_cast<index_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t line = mix64(static_cast<std::uint64_t>(sectors[i]));
      if (one.l1.touch(line)) {
        ++c.l1_hits;
      } else if (l2_.touch(line)) {
        ++c.l2_hits;
      }
    }
  }

  SimulatedGpu gpu_;
  const WarpProgram& program_;
  Cache l2_;
  std::vector<index_t> bases_;
  std::vector<GpuCounts> counts_;
  std::vector<Multiprocessor> all_;
  index_t resident_ = 1, next_block_ = 0;
  WarpLoad load_;
};

WarpProgram program_of(const Problem& p, index_t block, double line) {
  if (p.workload == "matmul" && p.kernel == "cuda_tiled") {
    WarpProgram program = matmul_by_tiles(p);
    program.predicted /= line;
    return program;
  }
  const bool zigzag = p.kernel == "cuda_zigzag", column = p.kernel == "cuda_column";
  if (p.workload == "matmul") {
    using matmul::Walk;
    const Walk walk = zigzag ? Walk::zigzag : column ? Walk::column : Walk::rows;
    WarpProgram program = matmul_by_cells(p, walk, block);
    predict_cells(program, p, walk, line);
    return program;
  }
  using Walk = stencil::Order;
  const Walk walk = zigzag ? Walk::zigzag : column ? Walk::column : Walk::rows;
  WarpProgram program = stencil_by_points(p, walk, block);
  predict_sweep(program, p, walk, line);
  return program;
}

}  // namespace

SimulatedGpu parse_gpu(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  require(parts.size() == 4, ExitCode::usage,
          fmt::format("--gpu '{}' is not a GPU description; use multiprocessors:L1:L2:threads, "
                      "e.g. 48:32KiB:4MiB:1024",
                      text));
  SimulatedGpu gpu;
  gpu.multiprocessors = parse_bytes(parts[0]);
  gpu.l1_bytes = round_up(parse_bytes(parts[1]), 8 * gpu.sector_bytes);
  gpu.l2_bytes = round_up(parse_bytes(parts[2]), 16 * gpu.sector_bytes);
  gpu.threads = parse_bytes(parts[3]);
  require(gpu.multiprocessors > 0 && gpu.l1_bytes > 0 && gpu.l2_bytes > 0 && gpu.threads >= lanes,
          ExitCode::usage,
          "--gpu has too small values: multiprocessors and two levels of cache must be positive, "
          "threads at least 32");
  return gpu;
}

std::vector<std::string> gpu_kernels(std::string_view workload) {
  if (workload == "matmul") return {"cuda_naive", "cuda_tiled", "cuda_column", "cuda_zigzag"};
  if (workload == "stencil") return {"cuda_naive", "cuda_column", "cuda_zigzag"};
  return {};
}

void check(const SimulatedGpu& gpu, const Problem& p, index_t block) {
  const std::vector<std::string> names = gpu_kernels(p.workload);
  require(std::find(names.begin(), names.end(), p.kernel) != names.end(), ExitCode::usage,
          fmt::format("kernel '{1}' of {0} cannot be simulated: its order of accesses is unknown",
                      p.workload, p.kernel));
  require(block > 0 && block % lanes == 0, ExitCode::usage,
          "--block must be a positive multiple of 32");
  if (p.workload == "stencil") {
    const stencil::Stencil s = stencil::named_stencil(p.stencil.empty() ? "box9x9" : p.stencil, 2);
    require(
        !s.two_levels() && s.rule == stencil::Rule::linear, ExitCode::usage,
        fmt::format("stencil '{}' cannot be simulated: must be a weighted sum of one time level",
                    p.stencil));
  }
  require_memory({{.bytes = gpu.l1_bytes, .line_bytes = gpu.sector_bytes}}, gpu.multiprocessors);
  require_memory({{.bytes = gpu.l2_bytes, .line_bytes = gpu.sector_bytes}}, 1);
}

GpuReport simulate(const SimulatedGpu& gpu, const Problem& problem, index_t block) {
  const Timer timer;
  check(gpu, problem, block);
  GpuReport report;
  report.problem = problem;
  Problem& p = report.problem;
  const bool columns = p.kernel == "cuda_column" || p.kernel == "cuda_zigzag";
  p.column_width = !columns ? 0 : p.column_width == 0 ? 32 : p.column_width;
  p.tile = p.kernel != "cuda_tiled"     ? 0
           : p.tile <= 16 && p.tile > 0 ? 16
                                        : 32;  // the tile sizes
                                               // that the kernel
                                               // has
  const WarpProgram program = program_of(
      p, block, static_cast<double>(gpu.sector_bytes) / static_cast<double>(p.element_bytes));
  report.block = program.block;
  report.arrays = program.arrays;
  report.counts = Machine(gpu, program).run();
  for (const GpuCounts& c : report.counts) {
    report.all.requests += c.requests;
    report.all.l1_hits += c.l1_hits;
    report.all.l2_hits += c.l2_hits;
  }
  report.formula = program.formula;
  report.predicted = program.predicted;
  report.seconds = timer.seconds();
  return report;
}

}  // namespace tessera::inline v1::locality
