// The cost of divergence, when the threads of a warp take different branches, and of an empty
// launch.

#include <utility>

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256, most_ways = 32, at_once = 8;  // steps between two checks of the
                                                           // counter

/// Computes at_once * turns steps of this branch: separate code with its constants inlined.
template <int branch>
__device__ __forceinline__ DeviceWord walk_branch(DeviceWord x, int turns) {
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int step = 0; step < at_once; ++step) x = opaque(step_of(branch)(x));
  }
  return x;
}

template <int... ways>
__device__ __forceinline__ DeviceWord walk(int mine, DeviceWord x, int turns,
                                           std::integer_sequence<int, ways...>) {
  ((x = mine == ways ? walk_branch<ways>(x, turns) : x), ...);
  return x;
}

__global__ void __launch_bounds__(threads) divergence(DeviceWord* out, int ways, int turns) {
  const index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  const int mine = static_cast<int>(threadIdx.x) % 32 % ways;
  out[i] = walk(mine, word_at(i), turns, std::make_integer_sequence<int, most_ways>());
}

class Divergence final : public LaunchedProbe {
 public:
  explicit Divergence(const DeviceWalk& walk)
      : LaunchedProbe(1),
        ways_(walk.ways),
        turns_(ceil_div(walk.rounds, at_once)),
        threads_(threads_of(walk, threads)),
        out_(threads_) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(out_.data(), threads_);
    return exact(wrong_powers(got.data(), threads_, ways_, turns_ * at_once), threads_);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(threads_) * static_cast<double>(turns_ * at_once);
  }

 private:
  void prepare() override {
    cuda::check(cudaMemset(out_.data(), 0xa5, byte_count(threads_)), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    divergence<<<blocks_for(threads_, threads), threads, 0, stream>>>(
        out_.data(), narrow<int>(ways_), narrow<int>(turns_));
  }

  index_t ways_, turns_, threads_;
  DeviceWords out_;
};

__global__ void empty_kernel() {}

class Empty final : public LaunchedProbe {
 public:
  explicit Empty(const DeviceWalk& walk) : LaunchedProbe(walk.rounds) {}
  [[nodiscard]] DeviceCheck check() override { return exact(0, 1); }
  [[nodiscard]] double work() const override { return launches(); }

 private:
  void launch(cudaStream_t stream) override { empty_kernel<<<1, 32, 0, stream>>>(); }
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_divergence(const DeviceWalk& walk) {
  return std::make_unique<Divergence>(walk);
}
std::unique_ptr<DeviceProbe> cuda_empty(const DeviceWalk& walk) {
  return std::make_unique<Empty>(walk);
}

void add_divergence_functions(Functions& to) {
  to.push_back({"cuda_divergence", "", reinterpret_cast<const void*>(divergence), threads, 0});
}

}  // namespace tessera::inline v1::memory
