#pragma once
// Tiles that are cut along k: blocks of threads hand the sums of their parts to the block that
// stores the tile.

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/parts.hpp"

namespace tessera::matmul {

/// Sums of parts of tiles on their way between blocks, in device memory: a slot a block, an element
/// of every thread after the other. `ready` says which slots hold theirs.
template <class T>
struct Exchange {
  T* sums = nullptr;
  int* ready = nullptr;
};

/// What this block has summed up of another one's tile, to its slot. Team: the threads that hold
/// sums (their number, the elements of a slot, and meet(), where they wait for each other);
/// sums.each(f) calls f(sum, number) for a thread's own.
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

/// sums += those of the `helpers` blocks that follow this one, in their order.
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

/// launch(exchange) with slots of so many elements where the shares want any; all blocks must run
/// at once.
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

}  // namespace tessera::matmul
