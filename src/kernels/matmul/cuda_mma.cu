// Mixed-precision product by mma.sync, for devices from compute capability 8.0 on: operands of 16
// bits (or 32, of which the tensor cores read 19: tf32), sums in f32. Asynchronous copies bring
// operands to shared memory in their stored layout, several stages ahead; ldmatrix loads them into
// registers.

#include "base/element.hpp"
#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_cuts.cuh"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::inline v1::matmul {
namespace {

constexpr int step_bytes = 32;  // depth of one instruction along k: 16 elements, or 8 of tf32

/// Computes sum (16 x 8) += x (16 x step) y (step x 8), distributed over the warp as the
/// instruction requires: thread 4 g + t holds rows g and g + 8 of x, at 4 t bytes in either half of
/// the step; column g of y at the same places; and columns 2 t and 2 t + 1 of rows g and g + 8 of
/// the sum.
#define TESSERA_MMA(type, text)                                                                 \
  __device__ __forceinline__ void mma(float(&sum)[4], const unsigned(&x)[4], const unsigned* y, \
                                      Type<type>) {                                             \
    asm("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"          \
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                                \
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));                    \
  }
TESSERA_MMA(__nv_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
TESSERA_MMA(__half, "m16n8k16.row.col.f32.f16.f16.f32")
TESSERA_MMA(float, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef TESSERA_MMA

/// Loads four matrices of 8 rows of 16 bytes: lane l supplies the address of row l % 8 of matrix l
/// / 8 and receives, of each matrix q, the 4 bytes at l % 4 in row l / 4; if turned, with 2-byte
/// elements, those of rows 2 (l % 4) and 2 (l % 4) + 1 in column l / 4.
template <bool turned>
__device__ __forceinline__ void load_matrices(unsigned address, unsigned (&to)[4]) {
  if constexpr (turned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  }
}

/// The tile of a block (m, n), divided into warp tiles (warp_m, warp_n), and its stages of `depth`
/// instructions along k; cut: whether k may be cut. The shared memory of all shapes fits every such
/// device (99 KiB).
struct LargeTile {
  static constexpr int m = 128, n = 256, warp_m = 64, warp_n = 64, stages = 3, blocks = 1,
                       slices = 1, depth = 2;
  static constexpr bool cut = false;
};
struct SmallTile {
  static constexpr int m = 64, n = 64, warp_m = 32, warp_n = 32, stages = 4, blocks = 2, slices = 1,
                       depth = 2;
  static constexpr bool cut = false;
};
/// For short sums: other blocks multiply while one stores.
struct ShortTile {
  static constexpr int m = 64, n = 64, warp_m = 32, warp_n = 32, stages = 3, blocks = 5, slices = 1,
                       depth = 2;
  static constexpr bool cut = true;
};
/// For few tiles, and for rows that begin anywhere.
struct SlicedTile {
  static constexpr int m = 64, n = 64, warp_m = 32, warp_n = 32, stages = 3, blocks = 2, slices = 2,
                       depth = 4;
  static constexpr bool cut = true;
};
struct TinyTile {
  static constexpr int m = 32, n = 32, warp_m = 32, warp_n = 32, stages = 3, blocks = 3, slices = 4,
                       depth = 8;
  static constexpr bool cut = true;
};

/// The tile of an operand in shared memory, with rows along k (k_fast) or across it. Rows are
/// padded by 16 bytes, so the eight rows of a matrix are in different banks. `extent`: rows of A
/// (columns of B).
template <class T, bool k_fast, int extent, int depth>
struct OperandTile {
  static constexpr int size = static_cast<int>(sizeof(T)), vector = 16 / size;
  static constexpr int pitch = (k_fast ? depth : extent) + vector,
                       elements = (k_fast ? extent : depth) * pitch;
  using Shape = std::conditional_t<k_fast, TileShape<extent, depth, pitch, 1, true>,
                                   TileShape<depth, extent, pitch, 1, false>>;
  static_assert(k_fast || size == 2);  // ldmatrix transposes only 2-byte elements
  // Bytes between steps along k, and between groups of 16 rows (columns).
  static constexpr int step = k_fast ? step_bytes : 16 * pitch * size;
  static constexpr int next16 = k_fast ? 16 * pitch * size : 16 * size;

  /// Returns the byte offset of a lane's row of a matrix: `half` selects eight of the 16 rows from
  /// `first` on, k_half the half of the step.
  __device__ __forceinline__ static int offset(int first, int half, int k_half, int row) {
    return k_fast ? (first + 8 * half + row) * pitch * size + 16 * k_half
                  : (8 * k_half + row) * pitch * size + (first + 8 * half) * size;
  }
};

template <class T, class S, Op op_a, Op op_b, bool aligned>
struct MmaKernel : S {
  static constexpr int k = S::depth * step_bytes / static_cast<int>(sizeof(T)),
                       steps = S::depth / S::slices;
  static constexpr int slice_threads = 32 * (S::m / S::warp_m) * (S::n / S::warp_n);
  static constexpr int threads = slice_threads * S::slices;
  static constexpr int tiles_m = S::warp_m / 16, tiles_n = S::warp_n / 8;
  static constexpr bool a_k_fast = op_a == Op::none, b_k_fast = op_b == Op::transpose;
  using A = OperandTile<T, a_k_fast, S::m, k>;
  using B = OperandTile<T, b_k_fast, S::n, k>;
  static constexpr int a_elements = A::elements, b_elements = B::elements;
  template <class Shape>
  using Copies = std::conditional_t<aligned, TileCopies<T, Shape, threads, A::vector>,
                                    WordCopies<T, Shape, threads>>;
  using CopiesA = Copies<typename A::Shape>;
  using CopiesB = Copies<typename B::Shape>;

  unsigned a, b;  // shared addresses of this lane's matrix rows
  int row, col;   // position of this thread's first element in the tile
  unsigned x[2][tiles_m][4], y[2][tiles_n / 2][4];
  float sum[tiles_m][tiles_n][4] = {};

  __device__ MmaKernel(const T* shared_a, const T* shared_b) {
    constexpr int warps_m = S::m / S::warp_m;
    const int warp = static_cast<int>(threadIdx.x) % slice_threads / 32,
              lane = static_cast<int>(threadIdx.x) % 32;
    const int row0 = warp % warps_m * S::warp_m, col0 = warp / warps_m * S::warp_n;
    const int matrix = lane / 8, low = matrix % 2, high = matrix / 2;
    a = static_cast<unsigned>(__cvta_generic_to_shared(shared_a)) +
        A::offset(row0, low, high, lane % 8) + slice() * steps * A::step;
    b = static_cast<unsigned>(__cvta_generic_to_shared(shared_b)) +
        B::offset(col0, high, low, lane % 8) + slice() * steps * B::step;
    row = row0 + lane / 4;
    col = col0 + 2 * (lane % 4);
  }
  /// Returns the slice of k, of every stage, that this thread multiplies.
  __device__ static int slice() { return static_cast<int>(threadIdx.x) / slice_threads; }
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) f(row + 16 * i + e / 2 * 8, col + 8 * j + e % 2, sum[i][j][e]);
      }
    }
  }
  __device__ __forceinline__ void fetch(int buffer, int stage, int step) {
    const unsigned from_a = a + stage * (a_elements * A::size) + step * A::step,
                   from_b = b + stage * (b_elements * B::size) + step * B::step;
#pragma unroll
    for (int i = 0; i < tiles_m; ++i)
      load_matrices<!a_k_fast>(from_a + i * A::next16, x[buffer][i]);
#pragma unroll
    for (int j = 0; j < tiles_n / 2; ++j)
      load_matrices<!b_k_fast>(from_b + j * B::next16, y[buffer][j]);
  }
  __device__ __forceinline__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j)
        mma(sum[i][j], x[buffer][i], y[buffer][j / 2] + j % 2 * 2, Type<T>{});
    }
  }

  /// Stores the block's tile of C, which begins at (row0, col0).
  __device__ __forceinline__ void store_to(const MatrixView<float>& c, float alpha, float beta,
                                           index_t row0, index_t col0) const {
    const bool vectors =
        beta == 0 && c.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
#pragma unroll
    for (int i = 0; i < 2 * tiles_m; ++i) {
      const index_t at_row = row0 + row + 8 * i;
      if (at_row >= c.rows) continue;
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) {
        const index_t at = col0 + col + 8 * j;
        const float* const s = sum[i / 2][j] + i % 2 * 2;
        if (vectors && at + 1 < c.cols) {
          *reinterpret_cast<float2*>(&c(at_row, at)) = float2{alpha * s[0], alpha * s[1]};
        } else {
          if (at < c.cols) store(c(at_row, at), alpha, s[0], beta);
          if (at + 1 < c.cols) store(c(at_row, at + 1), alpha, s[1], beta);
        }
      }
    }
  }
};

template <class Kernel, class T>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    multiply_steps(const MixedGemm<T> g, int cuts) {
  if constexpr (kernels::compiled_for < 80) return;        // never launched there
  extern __shared__ __align__(16) unsigned char stages[];  // stages of a, then of b, padded
  T* const shared_a = reinterpret_cast<T*>(stages);
  T* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 tile = tile_number(static_cast<int>(blockIdx.x) / cuts,
                                static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  const Cut cut(g.k(), Kernel::k, static_cast<int>(blockIdx.x) % cuts, cuts);
  typename Kernel::CopiesA copies_a(g.a, row0, cut.begin, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, cut.begin, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, cut.length(), shared_a);
  if constexpr (keeps_sums<Kernel, T, float>) {
    if (Kernel::slices > 1 || cuts > 1 || g.c.ld % 2 != 0)
      return store_parts(kernel, stages, cuts, g.c, g.alpha, g.beta, row0, col0);
  }
  kernel.store_to(g.c, g.alpha, g.beta, row0, col0);
}

template <class Kernel, class T>
void launch(const MixedGemm<T>& g, int cuts, DeviceStream stream) {
  launch_tiles<Kernel>(multiply_steps<Kernel, T>, g, cuts, shared_bytes_of<Kernel, T, float>,
                       stream);
}

template <class T>
bool takes_large(const MixedGemm<T>& g, MmaTile tile) {
  if (tile != MmaTile::best) return tile == MmaTile::large;
  // The small tile needs twice the shared-memory loads per product, close to the available
  // bandwidth.
  constexpr double small_speed = 0.7;
  const int multiprocessors = device_limits().multiprocessors;
  return share_of_device(g.c, LargeTile::m, LargeTile::n, multiprocessors) >=
         small_speed * share_of_device(g.c, SmallTile::m, SmallTile::n, multiprocessors);
}

}  // namespace

template <class T>
bool cuda_mma(const MixedGemm<T>& g, DeviceStream stream, MmaTile tile) {
  if (kernels::device_code().architecture < 80 || !rows_aligned(g.a) || !rows_aligned(g.b))
    return false;
  if (g.c.empty()) return true;
  const bool large = takes_large(g, tile);
  const auto launch_tile = [&](auto op_a, auto op_b) {
    if (large)
      launch<MmaKernel<T, LargeTile, op_a(), op_b(), true>>(g, 1, stream);
    else
      launch<MmaKernel<T, SmallTile, op_a(), op_b(), true>>(g, 1, stream);
  };
  if constexpr (sizeof(T) == 2) {
    dispatch_ops(g, launch_tile);
    return true;
  } else {
    if (g.op_a != Op::none || g.op_b != Op::transpose) return false;
    launch_tile(std::integral_constant<Op, Op::none>{},
                std::integral_constant<Op, Op::transpose>{});
    return true;
  }
}

template <class T>
void cuda_narrow(const MixedGemm<T>& g, DeviceStream stream) {
  if (g.c.empty()) return;
  const auto cost = []<class S>(S, const TileCycles& cycles) {
    return cost_of<MmaKernel<T, S, Op::none, Op::none, true>>(cycles);
  };
  const TileCost costs[] = {cost(SlicedTile{}, {25.5, 15.8, 6400}),
                            cost(TinyTile{}, {12, 10.3, 1500}),
                            cost(ShortTile{}, {54.6, 20.3, 3200}), padded_wgmma_cost(g)};
  const Tiling best = best_tiling(std::span(costs).first(kernels::device_code().wgmma ? 4 : 3),
                                  g.c.rows, g.c.cols, g.k());
  if (best.tile == 3 && cuda_padded_wgmma(g, stream)) return;
  const bool aligned = rows_aligned(g.a) && rows_aligned(g.b);
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    const auto launch_tile = [&]<class S>(S) {
      if (aligned) return launch<MmaKernel<T, S, op_a(), op_b(), true>>(g, best.cuts, stream);
      launch<MmaKernel<T, S, op_a(), op_b(), false>>(g, best.cuts, stream);
    };
    if (best.tile == 0) return launch_tile(SlicedTile{});
    if (best.tile == 1) return launch_tile(TinyTile{});
    launch_tile(ShortTile{});
  });
}

template void cuda_narrow(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template void cuda_narrow(const MixedGemm<__half>&, DeviceStream);
template bool cuda_mma(const MixedGemm<__nv_bfloat16>&, DeviceStream, MmaTile);
template bool cuda_mma(const MixedGemm<__half>&, DeviceStream, MmaTile);
template bool cuda_mma(const MixedGemm<float>&, DeviceStream, MmaTile);

void add_mma_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, class S>(const char* of, Type<T>, S) {
    constexpr Op op_b = sizeof(T) == 2 ? Op::none : Op::transpose;
    using Kernel = MmaKernel<T, S, Op::none, op_b, true>;
    to.push_back(machine::device_function("cuda_tensor", of, multiply_steps<Kernel, T>,
                                          Kernel::threads, shared_bytes_of<Kernel, T, float>));
  };
  add("bf16, mma.sync, large tile", Type<__nv_bfloat16>{}, LargeTile{});
  add("bf16, mma.sync, small tile", Type<__nv_bfloat16>{}, SmallTile{});
  add("bf16, mma.sync, sliced tile", Type<__nv_bfloat16>{}, SlicedTile{});
  add("bf16, mma.sync, tiny tile", Type<__nv_bfloat16>{}, TinyTile{});
  add("bf16, mma.sync, short sums", Type<__nv_bfloat16>{}, ShortTile{});
  add("f16, mma.sync, large tile", Type<__half>{}, LargeTile{});
  add("f16, mma.sync, small tile", Type<__half>{}, SmallTile{});
  add("tf32, mma.sync, large tile", Type<float>{}, LargeTile{});
  add("tf32, mma.sync, small tile", Type<float>{}, SmallTile{});
}

}  // namespace tessera::inline v1::matmul
