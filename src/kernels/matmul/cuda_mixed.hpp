#pragma once
// Products of operands in fewer bits than the sums: bf16, f16 and tf32 in, f32 out, on the tensor
// units.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/matmul/cuda.hpp"

namespace tessera::matmul {

/// As Gemm, with sums, alpha, beta and c in f32. T is __nv_bfloat16, __half, or float: then tf32,
/// of whose mantissa the units read 10 bits.
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

/// Launches the product and says so; false, and nothing done, where the device is not of compute
/// capability 9, where rows of an operand do not begin on 16 bytes, and for tf32 where k does not
/// run along the rows of both.
template <class T>
[[nodiscard]] bool cuda_wgmma(const MixedGemm<T>& g, DeviceStream stream);

/// Which tile of C a block takes.
enum class MmaTile { best, large, small };

/// The same on any device, by mma.sync; false, and nothing done, where rows of an operand do not
/// begin on 16 bytes, and for tf32 where k does not run along the rows of both.
template <class T>
[[nodiscard]] bool cuda_mma(const MixedGemm<T>& g, DeviceStream stream,
                            MmaTile tile = MmaTile::best);

/// The same by the vendor's library, on any device and any rows.
template <class T>
void cublas_mixed(const MixedGemm<T>& g, DeviceStream stream);

}  // namespace tessera::matmul
