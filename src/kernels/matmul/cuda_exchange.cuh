#pragma once
// Reduction of tiles that are cut along k: thread blocks send the sums of their parts to the block
// that stores the tile.

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/parts.hpp"

namespace tessera::inline v1::matmul {

/// Partial sums in transit between blocks, in device memory: one slot per block, in which element e
/// of all threads is contiguous. ready[block] is set once its slot is complete.
template <class T>
struct Exchange {
  T* sums = nullptr;
  int* ready = nullptr;
};

/// Writes this block's partial sums of another block's tile to its slot. Team: the threads that
/// hold sums (their number, the elements of a slot, and their barrier meet()); sums.each(f) calls
/// f(sum, number) for the sums of a thread.
template <class Team, class T, class Sums>
__device__ __forceinline__ void send_sums(const Exchange<T>& exchange, Sums& sums) {
  T* const to = exchange.sums + static_cast<index_t>(blockIdx.x) * Team::slot + threadIdx.x;
  sums.each([&](T& sum, int number) { to[number * Team::threads] = sum; });
  __threadfence();
  Team::meet();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(exchange.ready + blockIdx.x)
                 : "memory");
}

/// Adds the sums of the `helpers` blocks that follow this one, in their order.
template <class Team, class T, class Sums>
__device__ __forceinline__ void add_sums(const Exchange<T>& exchange, int helpers, Sums& sums) {
  for (int other = static_cast<int>(blockIdx.x) + 1;
       other <= static_cast<int>(blockIdx.x) + helpers; ++other) {
    if (threadIdx.x == 0) {
      int there = 0;
      while (there == 0)
        asm volatile("ld.acquire.gpu.global.b32 %0, [%1];"
                     : "=r"(there)
                     : "l"(exchange.ready + other)
                     : "memory");
    }
    Team::meet();
    const T* const from = exchange.sums + static_cast<index_t>(other) * Team::slot + threadIdx.x;
    sums.each([&](T& sum, int number) { sum += __ldcg(from + number * Team::threads); });
  }
}

/// Calls launch(exchange), with slots of `slot` elements if the shares cut tiles; all blocks must
/// be resident at once.
template <class T, class F>
void with_exchange(const Shares& shares, int slot, DeviceStream stream, const F& launch) {
  if (shares.whole == shares.tiles) return launch(Exchange<T>{});
  const auto slots = static_cast<std::size_t>(shares.blocks);
  const machine::cuda::Scratch sums(slots * static_cast<std::size_t>(slot) * sizeof(T), stream),
      ready(slots * sizeof(int), stream);
  machine::cuda::check(cudaMemsetAsync(ready.data(), 0, slots * sizeof(int), stream),
                       "cudaMemsetAsync");
  launch(Exchange<T>{static_cast<T*>(sums.data()), static_cast<int*>(ready.data())});
}

}  // namespace tessera::inline v1::matmul
