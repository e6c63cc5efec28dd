#pragma once
// A kernel of chosen length, and host data, for the probes of transfers.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {

inline constexpr int step_threads = 256;

/// Computes to[i] = step^rounds (from[i]).
static __global__ void __launch_bounds__(step_threads)
    steps(DeviceWord* to, const DeviceWord* from, index_t n, int rounds) {
  const index_t stride = static_cast<index_t>(gridDim.x) * step_threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * step_threads + threadIdx.x; i < n;
       i += stride) {
    DeviceWord x = from[i];
#pragma unroll 8
    for (int round = 0; round < rounds; ++round) x = opaque(step_of(0)(x));
    to[i] = x;
  }
}

inline unsigned some_blocks(index_t n) {
  return blocks_for(std::min(n, index_t{8} * this_gpu().multiprocessors * step_threads),
                    step_threads);
}

inline void poison(DeviceWord* host, index_t n) { std::fill_n(host, n, untouched); }

}  // namespace tessera::inline v1::memory
