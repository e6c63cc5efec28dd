#pragma once
// What this processor can execute, of the vectors that sources are compiled for.

#include "base/index.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace tessera::inline v1::simd {

/// Returns whether this processor executes the instructions of vectors of `bytes` bytes, 32 or 64:
/// AVX2 with FMA and halves, AVX-512 (F, BW, DQ, VL); SVE of exactly that length, for which the
/// compiler generates code.
inline bool processor_has([[maybe_unused]] index_t bytes) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Some compilers' __builtin_cpu_supports does not know the name "f16c".
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (bytes == 32) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__) && defined(__linux__) && defined(PR_SVE_GET_VL)
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0) return false;
  const int length = prctl(PR_SVE_GET_VL);
  return length > 0 && (length & PR_SVE_VL_LEN_MASK) == bytes;
#else
  return false;
#endif
}

}  // namespace tessera::inline v1::simd
