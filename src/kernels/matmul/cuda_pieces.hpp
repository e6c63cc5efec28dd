#pragma once
// A product of matrices in host memory, through the device in pieces. Only in builds with CUDA.

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/pieces.hpp"
#include "machine/cuda_staging.hpp"

namespace tessera::matmul {

/// How pieces go there and back.
struct Passage {
  enum class Overlap {
    yes,
    no,  ///< each step waits for the one before: to see what overlap gains
  };
  machine::StagingPlan staging;
  Overlap overlap = Overlap::yes;
};

/// g by a kernel, through the device by a plan for it; g.alpha is not 0. The times are sums of what
/// overlaps.
template <class T>
[[nodiscard]] machine::DeviceTimes multiply_in_pieces(DeviceKernel<T> kernel, const Gemm<T>& g,
                                                      const Tuning& tuning, const Pieces& pieces,
                                                      const Passage& passage);

}  // namespace tessera::matmul
