#pragma once
// A block's tile of a mixed-precision product by mma.sync. Asynchronous copies bring operands to
// shared memory in their stored layout, several stages ahead; ldmatrix loads them into registers.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "base/element.hpp"
#include "kernels/matmul/cuda_cuts.cuh"
#include "kernels/matmul/cuda_warp_sums.cuh"

namespace tessera::inline v1::matmul {

inline constexpr int step_bytes =
    32;  // depth of one instruction along k: 16 elements, 8 of tf32, 32 of a byte

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
__device__ __forceinline__ void mma(int (&sum)[4], const unsigned (&x)[4], const unsigned* y,
                                    Type<std::int8_t>) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
/// The products of one instruction are summed apart: the tensor cores may keep fewer bits of such
/// sums than f32 has.
__device__ __forceinline__ void mma(float (&sum)[4], const unsigned (&x)[4], const unsigned* y,
                                    Type<__nv_fp8_e4m3>) {
  float part[4];
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
      : "=f"(part[0]), "=f"(part[1]), "=f"(part[2]), "=f"(part[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(0.0F));
#pragma unroll
  for (int e = 0; e < 4; ++e) sum[e] += part[e];
}
#else  // never launched there
__device__ __forceinline__ void mma(float (&)[4], const unsigned (&)[4], const unsigned*,
                                    Type<__nv_fp8_e4m3>) {}
#endif

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

/// The sums of products of T.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, std::int8_t>, int, float>;

template <class T, class S, Op op_a, Op op_b, bool aligned>
struct MmaKernel : WarpSums<S, SumOf<T>> {
  using Sums = WarpSums<S, SumOf<T>>;
  using Sums::tiles_m, Sums::tiles_n, Sums::threads, Sums::row, Sums::col, Sums::sum, Sums::slice;
  static constexpr int k = S::depth * step_bytes / static_cast<int>(sizeof(T)),
                       steps = S::depth / S::slices;
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
  unsigned x[2][tiles_m][4], y[2][tiles_n / 2][4];

  __device__ MmaKernel(const T* shared_a, const T* shared_b) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int matrix = lane / 8, low = matrix % 2, high = matrix / 2;
    a = static_cast<unsigned>(__cvta_generic_to_shared(shared_a)) +
        A::offset(Sums::warp_row(), low, high, lane % 8) + slice() * steps * A::step;
    b = static_cast<unsigned>(__cvta_generic_to_shared(shared_b)) +
        B::offset(Sums::warp_col(), high, low, lane % 8) + slice() * steps * B::step;
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
};

}  // namespace tessera::inline v1::matmul
