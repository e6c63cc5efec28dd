#pragma once
// Double precision on the tensor units, by the tensor memory accelerator.

#include "kernels/matmul/cuda.hpp"

namespace tessera::matmul {

/// Launches the product and says so; false, and nothing done, where the device is older than
/// compute capability 9.0 or rows of an operand do not begin on 16 bytes.
[[nodiscard]] bool cuda_tensor_tma(const Gemm<double>& g, DeviceStream stream);

/// Operands rounded to tuning.precision, sums in f32.
void cuda_mixed(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream);

/// For device_functions().
void add_tensor_tma_functions(std::vector<machine::DeviceFunction>& to);
void add_wgmma_functions(std::vector<machine::DeviceFunction>& to);
void add_mma_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::matmul
