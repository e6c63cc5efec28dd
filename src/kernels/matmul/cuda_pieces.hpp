#pragma once
// Out-of-core product on the device: matrices in host memory, tiled through device memory. Only in
// builds with CUDA.

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/pieces.hpp"
#include "machine/cuda_staging.hpp"

namespace tessera::inline v1::matmul {

/// The transfer mode of tiles.
struct Passage {
  enum class Overlap {
    yes,
    no,  ///< each step waits for the previous one, to measure the gain of overlap
  };
  machine::StagingPlan staging;
  Overlap overlap = Overlap::yes;
};

/// Computes g with a kernel by a plan for g; g.alpha must not be 0. Returns the times of transfers
/// and kernels, summed although they overlap.
template <class T>
[[nodiscard]] machine::DeviceTimes multiply_in_pieces(DeviceKernel<T> kernel, const Gemm<T>& g,
                                                      const Tuning& tuning, const Pieces& pieces,
                                                      const Passage& passage);

}  // namespace tessera::inline v1::matmul
