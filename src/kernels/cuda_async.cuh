#pragma once
// Asynchronous copies (cp.async) from global to shared memory that bypass registers. Code for
// compute capabilities below 8.0, which lack them, loads and stores instead: such a copy has
// arrived when the call returns, and groups are empty. In both cases other threads of the block see
// it after the wait and a __syncthreads(). No thread may write the source while the kernel runs.

#include <type_traits>

#include "kernels/cuda_cache.cuh"

namespace tessera::inline v1::kernels {

/// Returns the shared-memory address of a generic pointer.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// Starts the copy of 4, 8 or 16 bytes; both addresses must be aligned to that size.
template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes)
                 : "memory");
  }
}
/// Copies as above, but reads only the first `valid` bytes and fills the rest with zeros; `from`
/// may be any address if valid is 0.
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
/// Starts the copy of 8 or 16 bytes of a line that other threads read too, with the cache policy of
/// reads_stay().
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

/// Commits this thread's copies since the previous call as one group.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all groups of this thread except the last `ahead` have arrived.
template <int ahead>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
}
/// Waits until all copies of this thread have arrived.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

__device__ __forceinline__ void store_shared(unsigned to, unsigned x) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
__device__ __forceinline__ void store_shared(unsigned to, uint2 x) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(x.x), "r"(x.y) : "memory");
}
__device__ __forceinline__ void store_shared(unsigned to, uint4 x) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z),
               "r"(x.w)
               : "memory");
}

template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from) {
  using Word =
      std::conditional_t<bytes == 16, uint4, std::conditional_t<bytes == 8, uint2, unsigned> >;
  store_shared(to, __ldg(static_cast<const Word*>(from)));
}
/// Here `valid` is a multiple of 4: kernels of smaller elements are not compiled.
template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from, int valid) {
  const auto* const words = static_cast<const unsigned*>(from);
#pragma unroll
  for (int at = 0; at < bytes; at += 4)
    store_shared(to + at, at < valid ? __ldg(words + at / 4) : 0);
}
template <int bytes = 16>
__device__ __forceinline__ void copy_async_staying(unsigned to, const void* from,
                                                   unsigned long long) {
  copy_async<bytes>(to, from);
}

__device__ __forceinline__ void end_group() {}
template <int ahead>
__device__ __forceinline__ void wait_for_groups() {}
__device__ __forceinline__ void wait_for_copies() {}

#endif

}  // namespace tessera::inline v1::kernels
