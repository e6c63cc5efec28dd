// Register tiling without tensor units: a thread's tile of C and two fragments of each operand in registers,
// operands in shared memory with k running slowest, filled several stages ahead by asynchronous copies.
//
// On an H200 (n = 8192, f32) 49.5 TFLOP/s where cuBLAS has 50.6; a thread's tile of 8 x 16 keeps the loads
// from shared memory below three quarters of its bandwidth (8 x 8 needs all of it).

#include "kernels/matmul/cuda_pipeline.cuh"

namespace tessera::matmul {
namespace {

template <class T>
struct RegisterTile;
template <>
struct RegisterTile<float> {
  static constexpr int m = 128, n = 256, k = 16, stages = 6, tm = 8, tn = 16, lanes_m = 4;
};
template <>
struct RegisterTile<double> {
  static constexpr int m = 128, n = 64, k = 16, stages = 4, tm = 8, tn = 4, lanes_m = 4;
};

template <class T, Op op_a, Op op_b, int vector>
struct RegisterKernel : RegisterTile<T> {
  using S = RegisterTile<T>;
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T));  // elements of a vector
  static constexpr int threads = S::m / S::tm * (S::n / S::tn);
  static constexpr int steps = S::k;
  static constexpr int a_pitch = S::m + lanes, b_pitch = S::n + (op_b == Op::transpose ? lanes : 0);
  static constexpr int a_elements = S::k * a_pitch, b_elements = S::k * b_pitch;
  using ShapeA = std::conditional_t<op_a == Op::none, TileShape<S::m, S::k, 1, a_pitch, true>,
                                    TileShape<S::k, S::m, a_pitch, 1, false>>;
  using ShapeB = std::conditional_t<op_b == Op::transpose, TileShape<S::n, S::k, 1, b_pitch, true>,
                                    TileShape<S::k, S::n, b_pitch, 1, false>>;
  using CopiesA = TileCopies<T, ShapeA, threads, op_a == Op::none ? 1 : vector>;
  using CopiesB = TileCopies<T, ShapeB, threads, op_b == Op::transpose ? 1 : vector>;

  // A warp is lanes_m x lanes_n threads; a thread's rows and columns come in vectors that lie side by side in
  // the warp.
  static constexpr int lanes_n = 32 / S::lanes_m;
  static constexpr int warps_m = S::m / (S::lanes_m * S::tm);
  const T *a, *b;  // shared, where this thread's fragments begin
  int row, col;    // of the first element of this thread in the tile
  T x[2][S::tm], y[2][S::tn];
  T sum[S::tm][S::tn] = {};

  __device__ RegisterKernel(const T* shared_a, const T* shared_b) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    row = warp % warps_m * S::lanes_m * S::tm + lane % S::lanes_m * lanes;
    col = warp / warps_m * lanes_n * S::tn + lane / S::lanes_m * lanes;
    a = shared_a + row;
    b = shared_b + col;
  }
  __device__ static int row_of(int i) { return i / lanes * S::lanes_m * lanes + i % lanes; }
  __device__ static int col_of(int j) { return j / lanes * lanes_n * lanes + j % lanes; }

  struct alignas(16) Vector {
    T at[lanes];
  };
  template <int count>
  __device__ __forceinline__ static void fragment(const T* from, int stride, T (&to)[count]) {
#pragma unroll
    for (int group = 0; group < count / lanes; ++group) {
      const auto v = *reinterpret_cast<const Vector*>(from + group * stride);
#pragma unroll
      for (int e = 0; e < lanes; ++e) to[group * lanes + e] = v.at[e];
    }
  }
  __device__ __forceinline__ void fetch(int buffer, int stage, int step) {
    fragment(a + (stage * S::k + step) * a_pitch, S::lanes_m * lanes, x[buffer]);
    fragment(b + (stage * S::k + step) * b_pitch, lanes_n * lanes, y[buffer]);
  }
  __device__ __forceinline__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < S::tm; ++i) {
#pragma unroll
      for (int j = 0; j < S::tn; ++j) sum[i][j] = fma(x[buffer][i], y[buffer][j], sum[i][j]);
    }
  }
};

template <class Kernel, class T>
__global__ void __launch_bounds__(Kernel::threads, 1) register_tiled(Gemm<T> g) {
  extern __shared__ __align__(16) unsigned char shared[];  // stages of a (k, m), then of b (k, n), padded
  T* const shared_a = reinterpret_cast<T*>(shared);
  T* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 tile = tile_of_block(static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                  static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  typename Kernel::CopiesA copies_a(g.a, row0, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, g.op_a == Op::none ? g.a.cols : g.a.rows, shared_a);
#pragma unroll
  for (int i = 0; i < Kernel::tm; ++i) {
    const index_t row = row0 + kernel.row + Kernel::row_of(i);
#pragma unroll
    for (int j = 0; j < Kernel::tn; ++j) {
      const index_t col = col0 + kernel.col + Kernel::col_of(j);
      if (row < g.c.rows && col < g.c.cols) store(g.c(row, col), g.alpha, kernel.sum[i][j], g.beta);
    }
  }
}

}  // namespace

template <class T>
void cuda_register(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  if (g.c.empty()) return;
  dispatch_pipeline(g, [&](auto op_a, auto op_b, auto vector) {
    using Kernel = RegisterKernel<T, op_a(), op_b(), vector()>;
    launch_tiles<Kernel>(register_tiled<Kernel, T>, g, stream);
  });
  machine::cuda::check(cudaGetLastError(), "matmul kernel");
}

template void cuda_register(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_register(const Gemm<double>&, const Tuning&, DeviceStream);

void add_register_functions(std::vector<machine::DeviceFunction>& to) {
  to.push_back(function_of<RegisterKernel<float, Op::none, Op::none, 4>>(
      "cuda_register", "f32", register_tiled<RegisterKernel<float, Op::none, Op::none, 4>, float>));
  to.push_back(function_of<RegisterKernel<double, Op::none, Op::none, 2>>(
      "cuda_register", "f64", register_tiled<RegisterKernel<double, Op::none, Op::none, 2>, double>));
}

}  // namespace tessera::matmul
