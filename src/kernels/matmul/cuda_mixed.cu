// Mixed-precision products of f32 operands: rounds operands on the device, then multiplies on the
// tensor cores with sums in f32.

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_quantised.hpp"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::inline v1::matmul {
namespace {

__device__ __forceinline__ __nv_bfloat16 in_precision(float x, __nv_bfloat16) {
  return __float2bfloat16_rn(x);
}
__device__ __forceinline__ __half in_precision(float x, __half) { return __float2half_rn(x); }
/// Rounds to the 10-bit mantissa of tf32, ties away from zero.
__device__ __forceinline__ float in_precision(float x, float) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

constexpr int tile = 32, tile_rows = 8;

/// Computes to[0:m, 0:n] = from[0:m, 0:n] rounded to the precision that T represents, or its
/// transpose; one block per tile.
template <bool turned, class T>
__global__ void __launch_bounds__(tile* tile_rows)
    rounded(const MatrixView<const float> from, const MatrixView<T> to, int tiles_across) {
  if constexpr (kernels::compiled_for < 80) return;  // never launched there
  __shared__ float block[tile][tile + 1];            // (tile, tile), padded against bank conflicts
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
    (turned ? to(col0 + j, row0 + i) : to(row0 + i, col0 + j)) = in_precision(block[i][j], T{});
  }
}

/// A rounded operand whose rows are aligned to 16 bytes.
template <class T>
struct Rounded {
  machine::cuda::DeviceBuffer<T> storage;
  MatrixView<T> view;

  Rounded(const MatrixView<const float>& x, bool turned, DeviceStream stream) {
    const index_t rows = turned ? x.cols : x.rows, cols = turned ? x.rows : x.cols;
    const index_t ld = round_up(cols, 16 / static_cast<index_t>(sizeof(T)));
    storage = machine::cuda::DeviceBuffer<T>(checked_mul(rows, ld, "size of a rounded operand"));
    view = {storage.data(), rows, cols, ld};
    if (view.empty()) return;
    const index_t across = ceil_div(x.cols, tile);
    const auto blocks = narrow<unsigned>(ceil_div(x.rows, tile) * across);
    (turned ? rounded<true, T> : rounded<false, T>)<<<blocks, dim3(tile, tile_rows), 0, stream>>>(
        x, view, narrow<int>(across));
    machine::cuda::check(cudaGetLastError(), "rounding kernel");
  }
};

void require_rounded_products() {
  const int code = kernels::device_code().architecture;
  require(code >= 80, ExitCode::usage,
          "products of rounded operands need tensor cores of compute capability 8.0 or later, and "
          "this GPU runs code for " +
              std::to_string(code / 10) + "." + std::to_string(code % 10) + "; drop --precision");
}

template <class T>
void multiply(const Gemm<float>& g, DeviceStream stream) {
  require_rounded_products();
  // tf32 requires k along the rows of both operands.
  const bool turn_a = sizeof(T) == 4 && g.op_a == Op::transpose,
             turn_b = sizeof(T) == 4 && g.op_b == Op::none;
  const auto other = [](Op op, bool turned) {
    return (op == Op::transpose) != turned ? Op::transpose : Op::none;
  };
  const Rounded<T> a(g.a, turn_a, stream), b(g.b, turn_b, stream);
  const MixedGemm<T> mixed{g.alpha, a.view, other(g.op_a, turn_a), b.view, other(g.op_b, turn_b),
                           g.beta,  g.c};
  if constexpr (sizeof(T) == 2) {
    if (kernels::device_code().wgmma) return cuda_narrow(mixed, stream);
  }
  // cuda_mma covers what cuda_wgmma refuses (another device, an empty k).
  require(cuda_wgmma(mixed, stream) || cuda_mma(mixed, stream), ExitCode::internal,
          "device does not support products of rounded operands");
}

}  // namespace

void cuda_mixed(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream) {
  switch (tuning.precision) {
    case Precision::bf16:
      return multiply<__nv_bfloat16>(g, stream);
    case Precision::f16:
      return multiply<__half>(g, stream);
    case Precision::tf32:
      return multiply<float>(g, stream);
    case Precision::fp8:
      return cuda_quantised<__nv_fp8_e4m3>(g, tuning, stream);
    case Precision::int8:
      return cuda_quantised<std::int8_t>(g, tuning, stream);
    case Precision::full:
      return cuda_register(g, tuning, stream);
  }
}

}  // namespace tessera::inline v1::matmul
