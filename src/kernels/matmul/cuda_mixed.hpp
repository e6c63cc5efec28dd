#pragma once
// Mixed-precision products on the tensor cores: bf16, f16 and tf32 in, f32 out.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/tiling.hpp"

namespace tessera::inline v1::matmul {

/// The problem of Gemm with sums, alpha, beta and c in f32. T is __nv_bfloat16, __half, or float
/// for tf32, of whose mantissa the tensor cores read 10 bits.
template <class T>
struct MixedGemm {
  float alpha = 1;
  MatrixView<const T> a;
  Op op_a = Op::none;
  MatrixView<const T> b;
  Op op_b = Op::none;
  float beta = 0;
  MatrixView<float> c;

  [[nodiscard]] TESSERA_HD index_t k() const { return op_a == Op::none ? a.cols : a.rows; }
};

/// Launches the product by wgmma and returns true; returns false without any effect if the device
/// does not run code for 9.0a (cuda_code.hpp), if rows of an operand are not aligned to 16 bytes,
/// or, for tf32, if k does not run along the rows of both.
template <class T>
[[nodiscard]] bool cuda_wgmma(const MixedGemm<T>& g, DeviceStream stream);

/// Launches the product by wgmma of copies with aligned rows of those operands whose rows are not;
/// returns false without any effect if the device does not run code for 9.0a.
template <class T>
[[nodiscard]] bool cuda_padded_wgmma(const MixedGemm<T>& g, DeviceStream stream);

/// Returns what it costs, with the copies.
template <class T>
[[nodiscard]] TileCost padded_wgmma_cost(const MixedGemm<T>& g);

/// The tile of C per block.
enum class MmaTile { best, large, small };

/// Launches the product by mma.sync and returns true; returns false without any effect if the
/// device's code is older than 8.0, if rows of an operand are not aligned to 16 bytes, or, for
/// tf32, if k does not run along the rows of both.
template <class T>
[[nodiscard]] bool cuda_mma(const MixedGemm<T>& g, DeviceStream stream,
                            MmaTile tile = MmaTile::best);

/// Launches the product of operands of 16 bits with any alignment, on devices whose code is of 8.0
/// or later.
template <class T>
void cuda_narrow(const MixedGemm<T>& g, DeviceStream stream);

/// Launches the product by the vendor's library, on any device and with any alignment.
template <class T>
void cublas_mixed(const MixedGemm<T>& g, DeviceStream stream);

}  // namespace tessera::inline v1::matmul
