#pragma once
// Tensor-core products: double precision through the tensor memory accelerator, f32 in reduced
// precision.

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/tiling.hpp"

namespace tessera::inline v1::matmul {

/// Launches the product and returns true; returns false without any effect if the code of the
/// device (cuda_code.hpp) is older than 9.0 or rows of an operand are not aligned to 16 bytes.
[[nodiscard]] bool cuda_tensor_tma(const Gemm<double>& g, DeviceStream stream);
/// Returns what its tile costs; if it would refuse, infinitely much.
[[nodiscard]] TileCost tensor_tma_cost(const Gemm<double>& g);

/// Multiplies operands rounded to tuning.precision, with sums in f32.
void cuda_mixed(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream);

/// Appends the kernels of each file to device_functions().
void add_tensor_tma_functions(std::vector<machine::DeviceFunction>& to);
void add_wgmma_functions(std::vector<machine::DeviceFunction>& to);
void add_mma_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::matmul
