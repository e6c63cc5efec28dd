#pragma once
// Products whose tiles of C are too few for the device are cut along k: among the blocks of a
// cluster (compute capability 9.0 on), and among groups of warps of a block, its slices. The parts
// of a tile meet in shared memory and are added in order, so results do not vary between runs.

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_pipeline.cuh"
#include "kernels/matmul/tiling.hpp"

namespace tessera::inline v1::matmul {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Waits for all threads of the cluster; shared memory written before is visible to them after.
__device__ __forceinline__ void meet_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release;\n"
      "barrier.cluster.wait.acquire;" ::
          : "memory");
}
/// Returns the address, for load_remote(), of what is at `shared` in block `rank` of the cluster.
__device__ __forceinline__ unsigned remote_address(unsigned shared, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
__device__ __forceinline__ float load_remote(unsigned address, float) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address));
  return value;
}
__device__ __forceinline__ double load_remote(unsigned address, double) {
  double value;
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(value) : "r"(address));
  return value;
}

#else  // never cut there

__device__ __forceinline__ void meet_cluster() {}
__device__ __forceinline__ unsigned remote_address(unsigned, int) { return 0; }
template <class T>
__device__ __forceinline__ T load_remote(unsigned, T) {
  return 0;
}

#endif

/// Elements [begin, end) of k: one of the `cuts` equal shares, in whole stages.
struct Cut {
  index_t begin, end;
  __device__ Cut(index_t from, index_t to) : begin(from), end(to) {}
  __device__ Cut(index_t k, int depth, int rank, int cuts) {
    const index_t stages = (k + depth - 1) / depth;
    begin = min(stages * rank / cuts * depth, k);
    end = min(stages * (rank + 1) / cuts * depth, k);
  }
  [[nodiscard]] __device__ index_t length() const { return end - begin; }
};

/// Returns the best tiling on the current device.
inline Tiling best_tiling(std::span<const TileCost> tiles, index_t m, index_t n, index_t k) {
  return cheapest_tiling(tiles, m, n, k,
                         {.multiprocessors = device_limits().multiprocessors,
                          .clusters = kernels::device_code().architecture >= 90});
}

/// Adds the sums of all slices and of all `cuts` blocks of the cluster and stores the tile of C
/// that begins at (row0, col0); every block stores its share of the rows. kernel.each(f) calls
/// f(row, col, sum) for the sums of a thread.
template <class Kernel, class T>
__device__ __forceinline__ void store_parts(Kernel& kernel, unsigned char* shared, int cuts,
                                            const MatrixView<T>& c, T alpha, T beta, index_t row0,
                                            index_t col0) {
  constexpr int pitch = sums_pitch<Kernel>, tile = Kernel::m * pitch, threads = Kernel::threads;
  T* const sums = reinterpret_cast<T*>(shared);
  __syncthreads();  // all threads have read the last stage
  T* const mine = sums + kernel.slice() * tile;
  kernel.each([&](int row, int col, T sum) { mine[row * pitch + col] = sum; });
  __syncthreads();
  if constexpr (Kernel::slices > 1) {
#pragma unroll 1
    for (int i = threadIdx.x; i < Kernel::m * Kernel::n; i += threads) {
      T* const at = sums + i / Kernel::n * pitch + i % Kernel::n;
      T sum = *at;
#pragma unroll
      for (int slice = 1; slice < Kernel::slices; ++slice) sum += at[slice * tile];
      *at = sum;
    }
    if (cuts == 1) __syncthreads();
  }
  if (cuts > 1) meet_cluster();
  const int rank = static_cast<int>(blockIdx.x) % cuts;
  const int rows = static_cast<int>(min(c.rows - row0, index_t{Kernel::m})),
            cols = static_cast<int>(min(c.cols - col0, index_t{Kernel::n}));
  const int begin = rows * rank / cuts, end = rows * (rank + 1) / cuts;
  T* const to = &c(row0, col0);
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(sums));
#pragma unroll 1
  for (int i = begin * Kernel::n + static_cast<int>(threadIdx.x); i < end * Kernel::n;
       i += threads) {
    const int row = i / Kernel::n, col = i % Kernel::n;
    if (col >= cols) continue;
    const int at = row * pitch + col;
    T sum = cuts == 1 ? sums[at] : T{0};
    if (cuts > 1) {
#pragma unroll 4
      for (int other = 0; other < cuts; ++other)
        sum += load_remote(remote_address(address + at * sizeof(T), other), T{});
    }
    store(to[row * c.ld + col], alpha, sum, beta);
  }
  if (cuts > 1) meet_cluster();  // no block leaves while others read its shared memory
}

}  // namespace tessera::inline v1::matmul
