#pragma once
// Sums of quantised operands as elements of the product.

#include "kernels/matmul/cuda_quantised.hpp"

namespace tessera::inline v1::matmul {

/// Returns sum * x * y for units x and y, the smaller one first: neither product overflows, nor
/// loses bits of an integer, unless the result does. NaN remains.
template <class Sum>
__device__ __forceinline__ float in_units(Sum sum, float x, float y) {
  const bool swap = x > y;
  return static_cast<float>(sum) * (swap ? y : x) * (swap ? x : y);
}

}  // namespace tessera::inline v1::matmul
