#pragma once
// Asynchronous copies from global to shared memory, without registers on their way.

#include "kernels/cuda_cache.cuh"

namespace tessera::kernels {

/// Where an address lies in shared memory.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// 4, 8 or 16 bytes, aligned as wide.
template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes)
                 : "memory");
  }
}
/// The same; of the bytes the first `valid` are read and the rest are zeros: with none valid the
/// address may be any.
template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from, int valid) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(bytes),
                 "r"(valid)
                 : "memory");
  }
}
/// 8 or 16 bytes of a line that others read, too: by the policy reads_stay().
template <int bytes = 16>
__device__ __forceinline__ void copy_async_staying(unsigned to, const void* from,
                                                   unsigned long long stays) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "l"(stays)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::cache_hint.L2::128B [%0], [%1], %2, %3;" ::"r"(to),
                 "l"(from), "n"(bytes), "l"(stays)
                 : "memory");
  }
}

/// Ends a group of this thread's copies.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// All of this thread's groups but the last `ahead` have arrived.
template <int ahead>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
}
/// All copies of this thread have arrived.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace tessera::kernels
