// Copy bandwidth in device memory: aligned, unaligned and strided; and shared memory read with
// strides.

#include "kernels/memory/cuda_lane_stride.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256, unroll = 4;  // loads in flight per thread

/// Copies to[0:vectors] = from[0:vectors].
__global__ void __launch_bounds__(threads)
    copy_vectors(uint4* to, const uint4* from, index_t vectors) {
  const index_t first = static_cast<index_t>(blockIdx.x) * (threads * unroll) + threadIdx.x;
  uint4 x[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * threads < vectors) x[u] = __ldcs(from + first + u * threads);
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * threads < vectors) __stcs(to + first + u * threads, x[u]);
  }
}

/// Copies to[i stride] = from[i stride] for i in [0, count).
__global__ void __launch_bounds__(threads)
    copy_words(DeviceWord* to, const DeviceWord* from, index_t count, index_t stride) {
  const index_t first = static_cast<index_t>(blockIdx.x) * (threads * unroll) + threadIdx.x;
  DeviceWord x[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * threads < count) x[u] = from[(first + u * threads) * stride];
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * threads < count) to[(first + u * threads) * stride] = x[u];
  }
}

class Copy : public LaunchedProbe {
 public:
  Copy(const DeviceWalk& walk, index_t offset, index_t stride)
      : LaunchedProbe(walk.rounds),
        n_(word_count(walk) + offset),
        offset_(offset),
        stride_(stride),
        count_(ceil_div(n_ - offset, stride)),
        from_(words_on_device(n_)),
        to_(n_) {
    cuda::check(cudaMemset(to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
  }
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(to_.data(), n_);
    return exact(wrong_copies(got.data(), n_, offset_, stride_, count_), n_);
  }
  [[nodiscard]] double work() const override {
    return 2.0 * static_cast<double>(byte_count(count_)) * launches();
  }

 protected:
  void launch(cudaStream_t stream) override {
    copy_words<<<blocks_for(count_, threads * unroll), threads, 0, stream>>>(
        to_.data() + offset_, from_.data() + offset_, count_, stride_);
  }
  [[nodiscard]] DeviceWord* to() const { return to_.data(); }
  [[nodiscard]] const DeviceWord* from() const { return from_.data(); }
  [[nodiscard]] index_t words() const { return n_; }

 private:
  index_t n_, offset_, stride_, count_;
  DeviceWords from_, to_;
};

class VectorCopy final : public Copy {
 public:
  explicit VectorCopy(const DeviceWalk& walk) : Copy(walk, 0, 1) {}

 private:
  void launch(cudaStream_t stream) override {
    const index_t vectors = words() / 4;
    copy_vectors<<<blocks_for(vectors, threads * unroll), threads, 0, stream>>>(
        reinterpret_cast<uint4*>(to()), reinterpret_cast<const uint4*>(from()), vectors);
  }
};

class EngineCopy final : public Copy {
 public:
  explicit EngineCopy(const DeviceWalk& walk) : Copy(walk, 0, 1) {}

 private:
  void launch(cudaStream_t stream) override {
    cuda::check(
        cudaMemcpyAsync(to(), from(), byte_count(words()), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
  }
};

constexpr int shared_words = 2048;  // a lane reads at most word 31 * 64 + 63

/// Adds up 16 words per round in every thread; words of adjacent threads are `stride` words apart.
__global__ void __launch_bounds__(threads) shared_stride(DeviceWord* sums, int stride, int rounds) {
  __shared__ DeviceWord words[shared_words];
  for (int i = static_cast<int>(threadIdx.x); i < shared_words; i += threads) words[i] = word_at(i);
  __syncthreads();
  const volatile DeviceWord* const mine = words + static_cast<int>(threadIdx.x) % 32 * stride;
  DeviceWord sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const volatile DeviceWord* const at = mine + round % 4 * 16;
#pragma unroll
    for (int u = 0; u < 16; ++u) sum += at[u];
  }
  sums[static_cast<index_t>(blockIdx.x) * threads + threadIdx.x] = sum;
}

}  // namespace

std::unique_ptr<DeviceProbe> cuda_copy(const DeviceWalk& walk) {
  return std::make_unique<VectorCopy>(walk);
}
std::unique_ptr<DeviceProbe> cuda_copy_engine(const DeviceWalk& walk) {
  return std::make_unique<EngineCopy>(walk);
}
std::unique_ptr<DeviceProbe> cuda_copy_offset(const DeviceWalk& walk) {
  return std::make_unique<Copy>(walk, walk.offset, 1);
}
std::unique_ptr<DeviceProbe> cuda_copy_stride(const DeviceWalk& walk) {
  return std::make_unique<Copy>(walk, 0, walk.lane_stride);
}
std::unique_ptr<DeviceProbe> cuda_shared_stride(const DeviceWalk& walk) {
  return std::make_unique<LaneStride>(walk, shared_stride, threads);
}

void add_copy_functions(Functions& to) {
  const auto words = reinterpret_cast<const void*>(copy_words);
  to.push_back({"cuda_copy", "", reinterpret_cast<const void*>(copy_vectors), threads, 0});
  to.push_back({"cuda_copy_offset", "", words, threads, 0});
  to.push_back({"cuda_copy_stride", "", words, threads, 0});
  to.push_back(
      {"cuda_shared_stride", "", reinterpret_cast<const void*>(shared_stride), threads, 0});
}

}  // namespace tessera::inline v1::memory
