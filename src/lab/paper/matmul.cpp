// Products on paper: one thread per element of C in several orders, and shared-memory tiles.

#include <fmt/core.h>

#include "base/error.hpp"
#include "kernels/matmul/sweep.hpp"
#include "lab/paper/kernels.hpp"
#include "lab/paper/product.hpp"
#include "lab/paper/warp.hpp"

namespace tessera::inline v1::paper {
namespace {

using matmul::Cell;
using matmul::Walk;

/// Computes cell number `step` of the walk in thread number `step`.
template <Walk walk, class T>
void one_element(Block& block, Product<T>& p, index_t threads, index_t width) {
  const auto step = [&](const Thread& t) { return t.block * threads + t.number; };
  const auto cell = [&](const Thread& t) { return cell_of(walk, step(t), p.m, p.n, width); };
  block.phase([&](Warp& warp) {
    warp.where(
        [&](const Thread& t) { return step(t) < p.m * p.n; },
        [&] {
          Register<T> sum;
          for (index_t q = 0; q < p.k; ++q) {
            const auto x = warp.load(p.a, [&](const Thread& t) { return cell(t).i * p.k + q; });
            const auto y = warp.load(p.b, [&](const Thread& t) { return q * p.n + cell(t).j; });
            warp.each([&](const Thread& t) { sum[t] += x[t] * y[t]; });
            warp.operations(2);
          }
          warp.store(
              p.c, [&](const Thread& t) { return cell(t).i * p.n + cell(t).j; },
              [&](const Thread& t) { return sum[t]; });
        });
  });
}

template <Walk walk, class T>
void run_one_element(Meter& meter, const Request& r) {
  Product<T> p(meter, r.problem);
  launch(meter, ceil_div(p.m * p.n, r.block), r.block,
         [&](Block& block) { one_element<walk>(block, p, r.block, r.problem.column_width); });
  p.check(r.problem.kernel);
}

/// Tiles of both operands in shared memory, padded, one thread per element.
template <class T>
void tiled(Block& block, Product<T>& p, index_t tile) {
  const index_t pitch = tile + 1;
  Array<T> a = block.shared<T>("tile of a", tile * pitch, pitch),
           b = block.shared<T>("tile of b", tile * pitch, pitch);
  const Cell corner = matmul::tile_corner(block.number(), p.n, tile);
  const auto x = [&](const Thread& t) { return t.number % tile; };
  const auto y = [&](const Thread& t) { return t.number / tile; };
  const auto place = [&](const Thread& t) { return y(t) * pitch + x(t); };
  auto sums = block.registers<T>();
  for (index_t q0 = 0; q0 < p.k; q0 += tile) {
    block.phase([&](Warp& warp) {
      Register<T> av, bv;
      warp.where([&](const Thread& t) { return corner.i + y(t) < p.m && q0 + x(t) < p.k; },
                 [&] {
                   av = warp.load(
                       p.a, [&](const Thread& t) { return (corner.i + y(t)) * p.k + q0 + x(t); });
                 });
      warp.where([&](const Thread& t) { return q0 + y(t) < p.k && corner.j + x(t) < p.n; },
                 [&] {
                   bv = warp.load(
                       p.b, [&](const Thread& t) { return (q0 + y(t)) * p.n + corner.j + x(t); });
                 });
      warp.store(a, place, [&](const Thread& t) { return av[t]; });
      warp.store(b, place, [&](const Thread& t) { return bv[t]; });
    });
    block.phase([&](Warp& warp) {
      Register<T>& sum = sums[warp.number()];
      for (index_t q = 0; q < tile; ++q) {
        const auto u = warp.load(a, [&](const Thread& t) { return y(t) * pitch + q; });
        const auto v = warp.load(b, [&](const Thread& t) { return q * pitch + x(t); });
        warp.each([&](const Thread& t) { sum[t] += u[t] * v[t]; });
        warp.operations(2);
      }
    });
  }
  block.phase([&](Warp& warp) {
    warp.where([&](const Thread& t) { return corner.i + y(t) < p.m && corner.j + x(t) < p.n; },
               [&] {
                 warp.store(
                     p.c,
                     [&](const Thread& t) { return (corner.i + y(t)) * p.n + corner.j + x(t); },
                     [&](const Thread& t) { return sums[warp.number()][t]; });
               });
  });
}

template <class T>
void run_tiled(Meter& meter, const Request& r) {
  Product<T> p(meter, r.problem);
  const index_t tile = r.problem.tile;
  launch(meter, ceil_div(p.m, tile) * ceil_div(p.n, tile), tile * tile,
         [&](Block& block) { tiled(block, p, tile); });
  p.check(r.problem.kernel);
}

template <Walk walk>
void run(Meter& meter, Request& r) {
  index_t& width = r.problem.column_width;
  width = walk == Walk::rows ? 0 : width == 0 ? 32 : width;
  if (r.problem.element_bytes == 4) return run_one_element<walk, float>(meter, r);
  run_one_element<walk, double>(meter, r);
}

void run_tiles(Meter& meter, Request& r) {
  if (r.problem.tile == 0) r.problem.tile = 32;
  if (r.problem.element_bytes == 4) return run_tiled<float>(meter, r);
  run_tiled<double>(meter, r);
}

/// Sums of whole numbers of at most 6 in magnitude are exact in f32 below 2^24.
void check(const Request& r) {
  constexpr index_t most = index_t{1} << 21;
  require(r.problem.k <= most, ExitCode::usage,
          fmt::format("--k {} is too large on paper: must be at most {}", r.problem.k, most));
}

/// The CUDA kernel has tiles of 16 and 32; its template has any that a block can hold.
void check_tiles(const Request& r) {
  check(r);
  require(r.problem.tile <= 32, ExitCode::usage,
          fmt::format("--tile {} exceeds a block of 32 x 32 threads", r.problem.tile));
}

}  // namespace

std::vector<PaperKernel> matmul_kernels() {
  std::vector<PaperKernel> rows{{"matmul", "cuda_naive", 30, 32, run<Walk::rows>, check},
                                {"matmul", "cuda_column", 32, 32, run<Walk::column>, check},
                                {"matmul", "cuda_zigzag", 30, 32, run<Walk::zigzag>, check},
                                {"matmul", "cuda_tiled", 32, 32, run_tiles, check_tiles}};
  rows.push_back(register_kernel());
  return rows;
}

}  // namespace tessera::inline v1::paper
