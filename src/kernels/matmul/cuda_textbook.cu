// The first steps of the optimisation ladder: one thread per element, in several orders, and
// shared-memory tiles.

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/sweep.hpp"

namespace tessera::inline v1::matmul {
namespace {

/// Computes cell number `step` of the walk in thread number `step`.
template <Walk walk, Op op_a, Op op_b, class T>
__global__ void one_element(Gemm<T> g, index_t width) {
  const index_t step = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (step >= g.c.rows * g.c.cols) return;
  const Cell cell = cell_of(walk, step, g.c.rows, g.c.cols, width);
  const index_t k = op_a == Op::none ? g.a.cols : g.a.rows;
  T sum{0};
  for (index_t p = 0; p < k; ++p)
    sum += element<op_a>(g.a, cell.i, p) * element<op_b>(g.b, p, cell.j);
  store(g.c(cell.i, cell.j), g.alpha, sum, g.beta);
}

template <Walk walk, class T>
void launch_one_element(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream) {
  const index_t cells = g.c.rows * g.c.cols;
  if (cells == 0) return;
  const auto block = narrow<unsigned>(tuning.block);
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    one_element<walk, op_a(), op_b()>
        <<<blocks_for(cells, block), block, 0, stream>>>(g, tuning.column_width);
  });
  machine::cuda::check(cudaGetLastError(), "matmul kernel");
}

/// Multiplies by tiles of both operands in shared memory, one thread per element (Kirk and Hwu
/// 2010, chapter 5).
template <int tile, Op op_a, Op op_b, class T>
__global__ void tiled(Gemm<T> g) {
  __shared__ T a[tile][tile + 1];  // (tile, tile), padded against bank conflicts
  __shared__ T b[tile][tile + 1];  // (tile, tile)
  const Cell corner = tile_corner(blockIdx.x, g.c.cols, tile);
  const index_t row0 = corner.i, col0 = corner.j;
  const int x = threadIdx.x, y = threadIdx.y;
  const index_t k = op_a == Op::none ? g.a.cols : g.a.rows;
  T sum{0};
  for (index_t p0 = 0; p0 < k; p0 += tile) {
    // Adjacent threads read adjacent addresses of the stored operand for either op: coalesced
    // loads.
    const index_t ai = row0 + (op_a == Op::none ? y : x), ap = p0 + (op_a == Op::none ? x : y);
    const T av = ai < g.c.rows && ap < k ? element<op_a>(g.a, ai, ap) : T{0};
    a[op_a == Op::none ? y : x][op_a == Op::none ? x : y] = av;
    const index_t bp = p0 + (op_b == Op::none ? y : x), bj = col0 + (op_b == Op::none ? x : y);
    const T bv = bp < k && bj < g.c.cols ? element<op_b>(g.b, bp, bj) : T{0};
    b[op_b == Op::none ? y : x][op_b == Op::none ? x : y] = bv;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < tile; ++p) sum += a[y][p] * b[p][x];
    __syncthreads();
  }
  if (row0 + y < g.c.rows && col0 + x < g.c.cols)
    store(g.c(row0 + y, col0 + x), g.alpha, sum, g.beta);
}

template <int tile, class T>
void launch_tiled(const Gemm<T>& g, DeviceStream stream) {
  const index_t tiles = ceil_div(g.c.rows, tile) * ceil_div(g.c.cols, tile);
  if (tiles == 0) return;
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    tiled<tile, op_a(), op_b()><<<narrow<unsigned>(tiles), dim3(tile, tile), 0, stream>>>(g);
  });
  machine::cuda::check(cudaGetLastError(), "matmul kernel");
}

}  // namespace

template <class T>
void cuda_naive(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream) {
  launch_one_element<Walk::rows>(g, tuning, stream);
}
template <class T>
void cuda_column(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream) {
  launch_one_element<Walk::column>(g, tuning, stream);
}
template <class T>
void cuda_zigzag(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream) {
  launch_one_element<Walk::zigzag>(g, tuning, stream);
}
template <class T>
void cuda_tiled(const Gemm<T>& g, const Tuning& tuning, DeviceStream stream) {
  if (tuning.tile <= 16) return launch_tiled<16>(g, stream);
  launch_tiled<32>(g, stream);
}

template void cuda_naive(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_naive(const Gemm<double>&, const Tuning&, DeviceStream);
template void cuda_column(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_column(const Gemm<double>&, const Tuning&, DeviceStream);
template void cuda_zigzag(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_zigzag(const Gemm<double>&, const Tuning&, DeviceStream);
template void cuda_tiled(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_tiled(const Gemm<double>&, const Tuning&, DeviceStream);

void add_textbook_functions(std::vector<machine::DeviceFunction>& to) {
  const int block = static_cast<int>(Tuning().block);
  const auto add = [&](const char* kernel, const char* of, auto* function, int threads) {
    to.push_back({kernel, of, reinterpret_cast<const void*>(function), threads, 0});
  };
  add("cuda_naive", "f32", one_element<Walk::rows, Op::none, Op::none, float>, block);
  add("cuda_naive", "f64", one_element<Walk::rows, Op::none, Op::none, double>, block);
  add("cuda_column", "f64", one_element<Walk::column, Op::none, Op::none, double>, block);
  add("cuda_zigzag", "f64", one_element<Walk::zigzag, Op::none, Op::none, double>, block);
  add("cuda_tiled", "f32", tiled<32, Op::none, Op::none, float>, 32 * 32);
  add("cuda_tiled", "f64", tiled<32, Op::none, Op::none, double>, 32 * 32);
}

}  // namespace tessera::inline v1::matmul
