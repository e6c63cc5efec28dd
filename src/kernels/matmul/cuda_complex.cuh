#pragma once
// What the device products of complex matrices share.

#include <algorithm>

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/pieces.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::matmul::complex_products {

inline constexpr int threads = 256;

/// Returns the blocks of a kernel whose threads stride over that many elements.
inline unsigned strided_blocks(index_t elements) {
  constexpr index_t most = 1 << 16;
  return static_cast<unsigned>(std::min(ceil_div(elements, index_t{threads}), most));
}

/// Calls f(i, j) for this thread's elements of (rows, cols).
template <class F>
__device__ __forceinline__ void for_elements(index_t rows, index_t cols, const F& f) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads, n = rows * cols;
  for (index_t e = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; e < n; e += step)
    f(e / cols, e % cols);
}

inline void check_launch(const char* kernel) { machine::cuda::check(cudaGetLastError(), kernel); }

}  // namespace tessera::inline v1::matmul::complex_products
