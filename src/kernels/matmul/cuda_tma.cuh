#pragma once
// The tensor memory accelerator (compute capability 9.0 on): asynchronous copies of boxes of a
// matrix from global to shared memory, which signal a barrier there. For earlier devices these
// functions are empty; their callers are never launched there.

#include "machine/cuda_tensor_map.hpp"

namespace tessera::inline v1::matmul {

using machine::cuda::fits_tensor_map;
using machine::cuda::swizzle_bytes;
using machine::cuda::tensor_map;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Barriers in shared memory, by address: a phase ends when `arrivals` threads have arrived and all
// announced bytes have been copied.
__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes the initialisations visible to copies; call it before the block's __syncthreads.
__device__ __forceinline__ void barriers_ready() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives and announces the bytes that copies will bring.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits until the phase of that parity has ended; the phase before the first counts as ended with
/// parity 1.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done "
      "bra again; "
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Starts the copy of the box whose first element is (row, col) to shared memory, aligned to 1024
/// bytes.
__device__ __forceinline__ void copy_box(unsigned to, const CUtensorMap& from, int row, int col,
                                         unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, "
      "%3}], "
      "[%4];" ::"r"(to),
      "l"(&from), "r"(col), "r"(row), "r"(barrier)
      : "memory");
}

#else

__device__ __forceinline__ unsigned shared_address(const void*) { return 0; }
__device__ __forceinline__ void barrier_init(unsigned, unsigned) {}
__device__ __forceinline__ void barriers_ready() {}
__device__ __forceinline__ void barrier_arrive(unsigned) {}
__device__ __forceinline__ void barrier_expect(unsigned, unsigned) {}
__device__ __forceinline__ void barrier_wait(unsigned, unsigned) {}
__device__ __forceinline__ void copy_box(unsigned, const CUtensorMap&, int, int, unsigned) {}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Moves registers from the copying to the multiplying warps; all four warps of a group must call
/// them.
template <int registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

#else

template <int registers>
__device__ __forceinline__ void give_registers() {}
template <int registers>
__device__ __forceinline__ void take_registers() {}

#endif

}  // namespace tessera::inline v1::matmul
