#pragma once
// The architecture that a pass of the compiler compiles device code for, as constants.

namespace tessera::inline v1::kernels {

#if defined(__CUDA_ARCH__)
inline constexpr int compiled_for = __CUDA_ARCH__ / 10;  // 75, 80, 90, ...
#else
inline constexpr int compiled_for = 90;  // the pass of the host, which compiles no device code
#endif

/// Whether wgmma and setmaxnreg are compiled: only code for 9.0a has them.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool compiled_for_90a = true;
#else
inline constexpr bool compiled_for_90a = false;
#endif

/// Threads that a multiprocessor holds.
inline constexpr int resident_threads =
    compiled_for == 75                                                   ? 1024
    : compiled_for < 86 || compiled_for == 90 || compiled_for / 10 == 10 ? 2048
                                                                         : 1536;

/// Returns `wanted` blocks of `threads` threads per multiprocessor, or as many as it holds: the
/// compiler refuses launch bounds beyond that.
constexpr int at_most_resident(int threads, int wanted) {
  const int most = resident_threads / threads;
  return most < wanted ? most : wanted;
}

}  // namespace tessera::inline v1::kernels
