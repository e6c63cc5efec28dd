// Tensor cores in double precision: mma.sync of 16 x 8 x 4 (from compute capability 9.0 on; 8.0 has
// m8n8k4, earlier ones none), operands in shared memory in their stored layout, filled several
// stages ahead by asynchronous copies.

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_pipeline.cuh"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::matmul {
namespace {

/// Computes sum (16 x 8) += x (16 x 4) y (4 x 8), distributed over the warp as the instruction
/// requires: thread 4 g + t holds rows g and g + 8 of x at k = t, column g of y at k = t, and
/// columns 2 t and 2 t + 1 of both rows of the sum.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void mma(double (&sum)[4], const double (&x)[2], double y) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(x[0]), "d"(x[1]), "d"(y));
}
#else  // two of 8 x 8 x 4, which the same threads hold
__device__ __forceinline__ void mma(double (&sum)[4], const double (&x)[2], double y) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
        : "+d"(sum[2 * half]), "+d"(sum[2 * half + 1])
        : "d"(x[half]), "d"(y));
}
#endif

/// The depth of a stage: the short one fits the shared memory of 8.0, 163 KiB.
enum class Depth { full = 32, half = 16 };

template <Op op_a, Op op_b, int vector, Depth depth>
struct TensorKernel {
  static constexpr int m = 128, n = 128, k = static_cast<int>(depth), stages = 3;
  static constexpr int warp_m = 32, warp_n = 32, step_k = 4;
  static constexpr int threads = 32 * (m / warp_m) * (n / warp_n);
  static constexpr int steps = k / step_k;
  static constexpr int pad = 4;  // shifts rows by 32 bytes: the 4 x 4 elements that half a warp
                                 // reads are in different banks
  static constexpr bool a_k_fast = op_a == Op::none, b_k_fast = op_b == Op::transpose;
  static constexpr int a_pitch = (a_k_fast ? k : m) + pad, b_pitch = (b_k_fast ? k : n) + pad;
  static constexpr int a_elements = (a_k_fast ? m : k) * a_pitch,
                       b_elements = (b_k_fast ? n : k) * b_pitch;
  using ShapeA = std::conditional_t<a_k_fast, TileShape<m, k, a_pitch, 1, true>,
                                    TileShape<k, m, a_pitch, 1, false>>;
  using ShapeB = std::conditional_t<b_k_fast, TileShape<n, k, b_pitch, 1, true>,
                                    TileShape<k, n, b_pitch, 1, false>>;
  using CopiesA = TileCopies<double, ShapeA, threads, vector>;
  using CopiesB = TileCopies<double, ShapeB, threads, vector>;
  // Strides, in elements, along the sides of the tiles in shared memory.
  static constexpr int a_row = a_k_fast ? a_pitch : 1, a_k = a_k_fast ? 1 : a_pitch;
  static constexpr int b_col = b_k_fast ? b_pitch : 1, b_k = b_k_fast ? 1 : b_pitch;
  static constexpr int tiles_m = warp_m / 16, tiles_n = warp_n / 8;

  const double *a, *b;
  int row, col;  // position of this thread's first element in the tile
  double x[2][tiles_m][2], y[2][tiles_n];
  double sum[tiles_m][tiles_n][4] = {};

  __device__ TensorKernel(const double* shared_a, const double* shared_b) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int group = lane / 4, in_group = lane % 4;
    const int row0 = warp % (m / warp_m) * warp_m, col0 = warp / (m / warp_m) * warp_n;
    a = shared_a + (row0 + group) * a_row + in_group * a_k;
    b = shared_b + (col0 + group) * b_col + in_group * b_k;
    row = row0 + group;
    col = col0 + 2 * in_group;
  }
  __device__ __forceinline__ void fetch(int buffer, int stage, int step) {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        x[buffer][i][half] =
            a[stage * a_elements + step * step_k * a_k + (16 * i + 8 * half) * a_row];
    }
#pragma unroll
    for (int j = 0; j < tiles_n; ++j)
      y[buffer][j] = b[stage * b_elements + step * step_k * b_k + 8 * j * b_col];
  }
  __device__ __forceinline__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) mma(sum[i][j], x[buffer][i], y[buffer][j]);
    }
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) tensor(Gemm<double> g) {
  if constexpr (kernels::compiled_for < 80) return;   // never launched there
  extern __shared__ __align__(16) double shared_a[];  // stages of a, then of b, padded
  double* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 tile = tile_number(static_cast<int>(blockIdx.x),
                                static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  typename Kernel::CopiesA copies_a(g.a, row0, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, g.op_a == Op::none ? g.a.cols : g.a.rows, shared_a);
#pragma unroll
  for (int i = 0; i < Kernel::tiles_m; ++i) {
#pragma unroll
    for (int j = 0; j < Kernel::tiles_n; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const index_t row = row0 + kernel.row + 16 * i + e / 2 * 8,
                      col = col0 + kernel.col + 8 * j + e % 2;
        if (row < g.c.rows && col < g.c.cols)
          store(g.c(row, col), g.alpha, kernel.sum[i][j][e], g.beta);
      }
    }
  }
}

template <Depth depth>
bool fits() {
  // The largest of all ops.
  using Kernel = TensorKernel<Op::none, Op::transpose, 1, depth>;
  return kernels::device_code().architecture >= 80 &&
         kernels::shared_bytes_per_block() >= shared_bytes_of<Kernel, double>;
}

template <Depth depth>
void launch(const Gemm<double>& g, DeviceStream stream) {
  dispatch_pipeline(g, [&](auto op_a, auto op_b, auto vector) {
    using Kernel = TensorKernel<op_a(), op_b(), vector(), depth>;
    launch_tiles<Kernel>(tensor<Kernel>, g, stream);
  });
  machine::cuda::check(cudaGetLastError(), "matmul kernel");
}

}  // namespace

/// Multiplies by cuda_register where the code or the shared memory of the device does not suffice.
void cuda_tensor(const Gemm<double>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty() || cuda_tensor_tma(g, stream)) return;
  if (fits<Depth::full>()) return launch<Depth::full>(g, stream);
  if (fits<Depth::half>()) return launch<Depth::half>(g, stream);
  cuda_register(g, tuning, stream);
}

/// Multiplies by cuda_register, because tensor cores have no single precision, unless
/// tuning.precision permits fewer bits.
void cuda_tensor(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty()) return;
  cuda_mixed(g, tuning, stream);
}

void add_tensor_functions(std::vector<machine::DeviceFunction>& to) {
  using Kernel = TensorKernel<Op::none, Op::none, 2, Depth::full>;
  using Short = TensorKernel<Op::none, Op::none, 2, Depth::half>;
  to.push_back(function_of<Kernel>("cuda_tensor", "f64, unaligned rows", tensor<Kernel>));
  to.push_back(function_of<Short>("cuda_tensor", "f64, short stages", tensor<Short>));
  add_tensor_tma_functions(to);
  add_mma_functions(to);
}

}  // namespace tessera::matmul
