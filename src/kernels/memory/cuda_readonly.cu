// Throughput of the read-only paths: constant memory by the distance of a warp's accesses, and
// device memory by texture fetches.

#include "kernels/memory/cuda_lane_stride.cuh"
#include "kernels/memory/cuda_texture.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256, unroll = 4;  // fetches in flight per thread
constexpr int constant_words = 2048;      // a lane reads at most word 31 * 64 + 63
constexpr int words_a_texel = 4;

__constant__ DeviceWord constants[constant_words];

/// Adds up 16 words per round in every thread; words of adjacent threads are `stride` words apart.
__global__ void __launch_bounds__(threads)
    constant_stride(DeviceWord* sums, int stride, int rounds) {
  const auto mine = static_cast<DeviceWord>(static_cast<int>(threadIdx.x) % 32 * stride);
  DeviceWord sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const DeviceWord at = opaque(mine + static_cast<DeviceWord>(round % 4 * 16));
#pragma unroll
    for (int u = 0; u < 16; ++u) sum += constants[at + u];
  }
  sums[static_cast<index_t>(blockIdx.x) * threads + threadIdx.x] = sum;
}

/// Adds the words of texels [0, n) to *result.
__global__ void __launch_bounds__(threads)
    sum_texels(DeviceWord* result, cudaTextureObject_t texels, int n) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  DeviceWord sum = 0;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += unroll * step) {
    uint4 x[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const index_t at = i + u * step;
      x[u] = at < n ? tex1Dfetch<uint4>(texels, static_cast<int>(at)) : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += x[u].x + x[u].y + x[u].z + x[u].w;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

void fill_constants() {
  const DeviceWords words = words_on_device(constant_words);
  cuda::check(cudaMemcpyToSymbol(constants, words.data(), byte_count(constant_words), 0,
                                 cudaMemcpyDeviceToDevice),
              "cudaMemcpyToSymbol");
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

class ReadTexture final : public LaunchedProbe {
 public:
  explicit ReadTexture(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds),
        n_(word_count(walk)),
        words_(words_on_device(n_)),
        texture_(words_),
        sum_(1) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto right = sum_of_words(n_) * static_cast<DeviceWord>(launches());
    return exact(to_host(sum_.data(), 1)[0] == right ? 0 : 1, 1);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void prepare() override { cuda::check(cudaMemset(sum_.data(), 0, byte_count(1)), "cudaMemset"); }
  void launch(cudaStream_t stream) override {
    const index_t texels = n_ / words_a_texel, most = index_t{8} * this_gpu().multiprocessors;
    const index_t blocks = std::clamp<index_t>(ceil_div(texels, threads * unroll), 1, most);
    sum_texels<<<narrow<unsigned>(blocks), threads, 0, stream>>>(sum_.data(), texture_.object(),
                                                                 narrow<int>(texels));
  }

  index_t n_;
  DeviceWords words_;
  Texture<uint4> texture_;
  DeviceWords sum_;
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_read_constant(const DeviceWalk& walk) {
  fill_constants();
  return std::make_unique<LaneStride>(walk, constant_stride, threads);
}
std::unique_ptr<DeviceProbe> cuda_read_texture(const DeviceWalk& walk) {
  return std::make_unique<ReadTexture>(walk);
}

void add_readonly_functions(Functions& to) {
  to.push_back(machine::device_function("cuda_read_constant", "", constant_stride, threads));
  to.push_back(machine::device_function("cuda_read_texture", "", sum_texels, threads));
}

}  // namespace tessera::inline v1::memory
