#pragma once
// The probes whose lanes read words in a stride of their own, from one memory or another.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {

/// Runs a kernel that stores to sums[thread] the sum of the words that the thread reads in `rounds`
/// rounds of 16; words of adjacent threads are lane_stride words apart.
class LaneStride final : public LaunchedProbe {
 public:
  using Kernel = void (*)(DeviceWord* sums, int lane_stride, int rounds);
  LaneStride(const DeviceWalk& walk, Kernel kernel, int block)
      : LaunchedProbe(1),
        walk_(walk),
        kernel_(kernel),
        block_(block),
        threads_(threads_of(walk, block)),
        sums_(threads_) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(sums_.data(), threads_);
    return exact(wrong_lane_sums(got.data(), threads_, walk_.lane_stride, walk_.rounds), threads_);
  }
  [[nodiscard]] double work() const override {
    return 16.0 * static_cast<double>(byte_count(threads_)) * static_cast<double>(walk_.rounds);
  }

 private:
  void prepare() override {
    cuda::check(cudaMemset(sums_.data(), 0xa5, byte_count(threads_)), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    kernel_<<<blocks_for(threads_, block_), block_, 0, stream>>>(
        sums_.data(), narrow<int>(walk_.lane_stride), narrow<int>(walk_.rounds));
  }

  DeviceWalk walk_;
  Kernel kernel_;
  int block_;
  index_t threads_;
  DeviceWords sums_;
};

}  // namespace tessera::inline v1::memory
