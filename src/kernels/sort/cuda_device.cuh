#pragma once
// Functions shared by the device sorts.

#include "kernels/sort/cuda.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::sort {

template <class Value>
inline constexpr bool has_values = !std::is_same_v<Value, NoValue>;

inline constexpr unsigned all_lanes = 0xffffffffU;

__device__ __forceinline__ unsigned lane_id() { return threadIdx.x % 32; }

__device__ __forceinline__ unsigned lanes_below() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

__device__ __forceinline__ unsigned lanes_above() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
  return mask;
}

/// Returns the inclusive scan of x over the warp's lanes.
template <class T>
__device__ __forceinline__ T warp_prefix_sum(T x) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const T other = __shfl_up_sync(all_lanes, x, step);
    if (lane_id() >= step) x += other;
  }
  return x;
}

inline unsigned multiprocessors() {
  return static_cast<unsigned>(machine::cuda::attribute(cudaDevAttrMultiProcessorCount));
}

/// Raises the kernel's limit of dynamic shared memory.
template <class Kernel>
void allow_shared(Kernel* kernel, int bytes) {
  machine::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "cudaFuncSetAttribute");
}

/// Returns the number of blocks that are resident on the device at once, at most `most`.
template <class Kernel>
unsigned resident_blocks(Kernel* kernel, int threads, int shared_bytes, index_t most) {
  int each = 0;
  machine::cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                           &each, kernel, threads, static_cast<std::size_t>(shared_bytes)),
                       "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const index_t all = index_t{each > 0 ? each : 1} * multiprocessors();
  return narrow<unsigned>(all < most ? all : most);
}

inline void check_launch(const char* kernel) { machine::cuda::check(cudaGetLastError(), kernel); }

/// An allocator of aligned arrays in work memory; for nullptr it only adds up their sizes.
class WorkSpace {
 public:
  explicit WorkSpace(std::byte* memory) : memory_(memory) {}
  template <class T>
  [[nodiscard]] T* take(index_t count) {
    T* const array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += round_up(checked_mul(count, static_cast<index_t>(sizeof(T)),
                                   "size of the work memory of a device sort"),
                       256);
    return array;
  }
  [[nodiscard]] index_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  index_t bytes_ = 0;
};

}  // namespace tessera::inline v1::sort
