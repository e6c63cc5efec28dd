// The cost of barriers: of a block, and of a grid whose blocks are all resident.

#include <cooperative_groups.h>

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256, most_threads = 1024;

/// Takes a step between barriers, so that none can be left out.
template <class Barrier>
__device__ __forceinline__ void walk(DeviceWord* out, index_t i, int rounds,
                                     const Barrier& barrier) {
  DeviceWord x = word_at(i);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    x = opaque(step_of(0)(x));
    barrier();
  }
  out[i] = x;
}

__global__ void __launch_bounds__(most_threads) block_barriers(DeviceWord* out, int rounds) {
  walk(out, threadIdx.x, rounds, [] { __syncthreads(); });
}

__global__ void __launch_bounds__(threads) grid_barriers(DeviceWord* out, int rounds) {
  const auto grid = cooperative_groups::this_grid();
  walk(out, static_cast<index_t>(blockIdx.x) * threads + threadIdx.x, rounds, [&] { grid.sync(); });
}

class Barriers : public LaunchedProbe {
 public:
  Barriers(index_t count, index_t rounds)
      : LaunchedProbe(1), count_(count), rounds_(rounds), out_(count) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(out_.data(), count_);
    return exact(wrong_powers(got.data(), count_, 1, rounds_), count_);
  }
  [[nodiscard]] double work() const override { return static_cast<double>(rounds_); }

 protected:
  [[nodiscard]] index_t count() const { return count_; }
  [[nodiscard]] int rounds() const { return narrow<int>(rounds_); }
  [[nodiscard]] DeviceWord* out() const { return out_.data(); }

 private:
  void prepare() override {
    cuda::check(cudaMemset(out_.data(), 0xa5, byte_count(count_)), "cudaMemset");
  }

  index_t count_, rounds_;
  DeviceWords out_;
};

class OfBlock final : public Barriers {
 public:
  explicit OfBlock(const DeviceWalk& walk) : Barriers(word_count(walk), walk.rounds) {}

 private:
  void launch(cudaStream_t stream) override {
    block_barriers<<<1, narrow<unsigned>(count()), 0, stream>>>(out(), rounds());
  }
};

/// Returns the threads of a grid: as the size says, otherwise a block for each multiprocessor.
/// Throws Error(usage) if they are not all resident at once.
index_t resident_threads(const DeviceWalk& walk) {
  const int multiprocessors = this_gpu().multiprocessors;
  const index_t count =
      walk.bytes > 0 ? threads_of(walk, threads) : index_t{threads} * multiprocessors;
  int blocks = 0;
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_barriers, threads, 0),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  require(count / threads <= index_t{blocks} * multiprocessors, ExitCode::usage,
          "the blocks of cuda_barrier_grid must be resident at once: use a smaller --size");
  return count;
}

class OfGrid final : public Barriers {
 public:
  explicit OfGrid(const DeviceWalk& walk) : Barriers(resident_threads(walk), walk.rounds) {}

 private:
  void launch(cudaStream_t stream) override {
    DeviceWord* to = out();
    int times = rounds();
    void* arguments[] = {&to, &times};
    cuda::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_barriers),
                                            dim3(blocks_for(count(), threads)), dim3(threads),
                                            arguments, 0, stream),
                "cudaLaunchCooperativeKernel");
  }
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_barrier_block(const DeviceWalk& walk) {
  return std::make_unique<OfBlock>(walk);
}
std::unique_ptr<DeviceProbe> cuda_barrier_grid(const DeviceWalk& walk) {
  return std::make_unique<OfGrid>(walk);
}

void add_barrier_functions(Functions& to) {
  to.push_back(machine::device_function("cuda_barrier_block", "", block_barriers, most_threads));
  to.push_back(machine::device_function("cuda_barrier_grid", "", grid_barriers, threads));
}

}  // namespace tessera::inline v1::memory
