// Tensor cores in double precision: mma.sync of 16 x 8 x 4 (from compute capability 9.0 on; 8.0 has
// m8n8k4, earlier ones none), operands in shared memory in their stored layout, filled several
// stages ahead by asynchronous copies.

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_cuts.cuh"
#include "kernels/matmul/cuda_quantised.hpp"
#include "kernels/matmul/cuda_tensor.hpp"
#include "kernels/matmul/cuda_warp_sums.cuh"

namespace tessera::inline v1::matmul {
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

struct WarpTile {
  static constexpr int warp_m = 32, warp_n = 32;
};
/// Tile shapes. The short stages of the large one fit the shared memory of 8.0, 163 KiB; the others
/// are for few tiles.
struct Large : WarpTile {
  static constexpr int m = 128, n = 128, k = 32, stages = 3, blocks = 1, slices = 1;
};
struct Short : WarpTile {
  static constexpr int m = 128, n = 128, k = 16, stages = 4, blocks = 1, slices = 1;
};
struct Small : WarpTile {
  static constexpr int m = 64, n = 64, k = 16, stages = 3, blocks = 4, slices = 1;
};
struct Sliced : WarpTile {
  static constexpr int m = 64, n = 64, k = 16, stages = 4, blocks = 2, slices = 2;
};
struct Tiny : WarpTile {
  static constexpr int m = 32, n = 32, k = 64, stages = 3, blocks = 2, slices = 8;
};

template <class S, Op op_a, Op op_b, int vector>
struct TensorKernel : WarpSums<S, double> {
  static constexpr bool cut = true;
  using Sums = WarpSums<S, double>;
  using S::m, S::n, S::k, S::slices;
  using Sums::tiles_m, Sums::tiles_n, Sums::threads, Sums::sum, Sums::slice;
  static constexpr int step_k = 4, steps = k / step_k / slices;
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

  const double *a, *b;
  double x[2][tiles_m][2], y[2][tiles_n];

  __device__ TensorKernel(const double* shared_a, const double* shared_b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int group = lane / 4, in_group = lane % 4;
    const int k0 = slice() * steps * step_k + in_group;
    a = shared_a + (Sums::warp_row() + group) * a_row + k0 * a_k;
    b = shared_b + (Sums::warp_col() + group) * b_col + k0 * b_k;
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
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    tensor(Gemm<double> g, int cuts) {
  if constexpr (kernels::compiled_for < 80) return;        // never launched there
  extern __shared__ __align__(16) unsigned char shared[];  // stages of a, then of b, padded
  double* const shared_a = reinterpret_cast<double*>(shared);
  double* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 tile = tile_number(static_cast<int>(blockIdx.x) / cuts,
                                static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  const Cut cut(g.op_a == Op::none ? g.a.cols : g.a.rows, Kernel::k,
                static_cast<int>(blockIdx.x) % cuts, cuts);
  typename Kernel::CopiesA copies_a(g.a, row0, cut.begin, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, cut.begin, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, cut.length(), shared_a);
  if constexpr (Kernel::slices == 1) {
    if (cuts == 1 && g.c.ld % 2 == 0) {
      kernel.each([&](int row, int col, double sum) {
        if (row0 + row < g.c.rows && col0 + col < g.c.cols)
          store(g.c(row0 + row, col0 + col), g.alpha, sum, g.beta);
      });
      return;
    }
  }
  static_assert(keeps_sums<Kernel, double>);
  store_parts(kernel, shared, cuts, g.c, g.alpha, g.beta, row0, col0);
}

template <class S>
bool fits() {
  // The largest of all ops.
  using Kernel = TensorKernel<S, Op::none, Op::transpose, 1>;
  return kernels::device_code().architecture >= 80 &&
         kernels::shared_bytes_per_block() >= shared_bytes_of<Kernel, double>;
}

template <class S>
void launch(const Gemm<double>& g, int cuts, DeviceStream stream) {
  dispatch_pipeline(g, [&](auto op_a, auto op_b, auto vector) {
    using Kernel = TensorKernel<S, op_a(), op_b(), vector()>;
    launch_tiles<Kernel>(tensor<Kernel>, g, cuts, shared_bytes_of<Kernel, double>, stream);
  });
}

}  // namespace

/// Multiplies by cuda_register where the code or the shared memory of the device does not suffice.
void cuda_tensor(const Gemm<double>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty()) return;
  const auto cost = []<class S>(S, const TileCycles& cycles) {
    return if_fits(fits<S>(), cost_of<TensorKernel<S, Op::none, Op::none, 1>>(cycles));
  };
  const TileCost costs[] = {tensor_tma_cost(g),
                            cost(Large{}, {172, 172, 5800}),
                            cost(Short{}, {200, 200, 5800}),
                            cost(Small{}, {157, 54, 4000}),
                            cost(Sliced{}, {47, 40, 5100}),
                            cost(Tiny{}, {31, 30, 1900})};
  const Tiling best = best_tiling(costs, g.m(), g.n(), g.k());
  switch (fits<Short>() ? best.tile : -1) {
    case 0:
      return require(cuda_tensor_tma(g, stream), ExitCode::internal, "a product was refused");
    case 1:
      return launch<Large>(g, best.cuts, stream);
    case 2:
      return launch<Short>(g, best.cuts, stream);
    case 3:
      return launch<Small>(g, best.cuts, stream);
    case 4:
      return launch<Sliced>(g, best.cuts, stream);
    case 5:
      return launch<Tiny>(g, best.cuts, stream);
    default:
      return cuda_register(g, tuning, stream);
  }
}

/// Multiplies by cuda_register, because tensor cores have no single precision, unless
/// tuning.precision permits fewer bits.
void cuda_tensor(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  if (g.c.empty()) return;
  cuda_mixed(g, tuning, stream);
}

void add_tensor_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class S>(const char* of, S) {
    using Kernel = TensorKernel<S, Op::none, Op::none, 2>;
    to.push_back(function_of<Kernel>("cuda_tensor", of, tensor<Kernel>));
  };
  add("f64, unaligned rows", Large{});
  add("f64, short stages", Short{});
  add("f64, several blocks", Small{});
  add("f64, sliced tile", Sliced{});
  add("f64, tiny tile", Tiny{});
  add_tensor_tma_functions(to);
  add_mma_functions(to);
  add_quantised_functions(to);
}

}  // namespace tessera::inline v1::matmul
