// Products of f32 operands in fewer bits: they are rounded on the device, then multiplied on the tensor units
// with sums in f32.

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::matmul {
namespace {

__device__ __forceinline__ __nv_bfloat16 in_precision(float x, __nv_bfloat16) {
  return __float2bfloat16_rn(x);
}
__device__ __forceinline__ __half in_precision(float x, __half) { return __float2half_rn(x); }
/// The 10 bits of mantissa of tf32, ties away from zero.
__device__ __forceinline__ float in_precision(float x, float) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

constexpr int tile = 32, tile_rows = 8;

/// to[0:m, 0:n] = from[0:m, 0:n] rounded to what T stands for, or its transpose; a block a tile. To may be
/// wider.
template <bool turned, class T, class To>
__global__ void __launch_bounds__(tile* tile_rows)
    rounded(const MatrixView<const float> from, const MatrixView<To> to, int tiles_across) {
  __shared__ float block[tile][tile + 1];  // (tile, tile), padded against bank conflicts
  const index_t row0 = static_cast<index_t>(blockIdx.x) / tiles_across * tile,
                col0 = static_cast<index_t>(blockIdx.x) % tiles_across * tile;
  const int x = threadIdx.x;
  for (int y = threadIdx.y; y < tile; y += tile_rows) {
    if (row0 + y < from.rows && col0 + x < from.cols) block[y][x] = from(row0 + y, col0 + x);
  }
  __syncthreads();
  for (int y = threadIdx.y; y < tile; y += tile_rows) {
    const int i = turned ? x : y, j = turned ? y : x;  // within the tile of `from`
    if (row0 + i >= from.rows || col0 + j >= from.cols) continue;
    To& there = turned ? to(col0 + j, row0 + i) : to(row0 + i, col0 + j);
    there = static_cast<To>(in_precision(block[i][j], T{}));
  }
}

/// A rounded operand, rows on 16 bytes.
template <class T, class To = T>
struct Rounded {
  machine::cuda::DeviceBuffer<To> storage;
  MatrixView<To> view;

  Rounded(const MatrixView<const float>& x, bool turned, DeviceStream stream) {
    const index_t rows = turned ? x.cols : x.rows, cols = turned ? x.rows : x.cols;
    const index_t ld = round_up(cols, 16 / static_cast<index_t>(sizeof(To)));
    storage = machine::cuda::DeviceBuffer<To>(checked_mul(rows, ld, "a rounded operand"));
    view = {storage.data(), rows, cols, ld};
    if (view.empty()) return;
    const index_t across = ceil_div(x.cols, tile);
    const auto blocks = narrow<unsigned>(ceil_div(x.rows, tile) * across);
    (turned ? rounded<true, T, To> : rounded<false, T, To>)<<<blocks, dim3(tile, tile_rows), 0, stream>>>(
        x, view, narrow<int>(across));
    machine::cuda::check(cudaGetLastError(), "rounding kernel");
  }
};

/// What the units do not take (another device, an empty k) is multiplied in f32 all the same.
template <class T>
void multiply_otherwise(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  const Rounded<T, float> a(g.a, false, stream), b(g.b, false, stream);
  cuda_register<float>({g.alpha, a.view, g.op_a, b.view, g.op_b, g.beta, g.c}, tuning, stream);
}

template <class T>
void multiply(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  // tf32 wants k along the rows of both.
  const bool turn_a = sizeof(T) == 4 && g.op_a == Op::transpose,
             turn_b = sizeof(T) == 4 && g.op_b == Op::none;
  const auto other = [](Op op, bool turned) {
    return (op == Op::transpose) != turned ? Op::transpose : Op::none;
  };
  const Rounded<T> a(g.a, turn_a, stream), b(g.b, turn_b, stream);
  if (cuda_wgmma(
          MixedGemm<T>{g.alpha, a.view, other(g.op_a, turn_a), b.view, other(g.op_b, turn_b), g.beta, g.c},
          stream))
    return;
  multiply_otherwise<T>(g, tuning, stream);
}

}  // namespace

void cuda_mixed(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  switch (tuning.precision) {
    case Precision::bf16:
      return multiply<__nv_bfloat16>(g, tuning, stream);
    case Precision::f16:
      return multiply<__half>(g, tuning, stream);
    case Precision::tf32:
      return multiply<float>(g, tuning, stream);
    case Precision::full:
      return cuda_register(g, tuning, stream);
  }
}

}  // namespace tessera::matmul
