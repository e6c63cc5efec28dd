#pragma once
// What device kernels ask of the second-level cache.

namespace tessera::kernels {

/// The policy of reads whose lines leave the second-level cache last. For kernels that read a line
/// more than once, by several blocks or sector by sector, while they write as much: what is written
/// else drives out what is still to be read. What they leave there costs the next kernel nothing:
/// measured on an H200, a copy after a transpose that reads so takes as long as after another copy
/// (within 0.3 %).
__device__ __forceinline__ unsigned long long reads_stay() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace tessera::kernels
