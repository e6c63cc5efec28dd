// Histograms of words: by atomics in device memory, and by atomics in a block's private bins in
// shared memory.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256, blocks_a_multiprocessor = 8;

template <class Count>
__device__ __forceinline__ void count_all(const uint4* from, index_t vectors, const Count& count) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < vectors;
       i += step) {
    const uint4 x = __ldcs(from + i);
    count(x.x);
    count(x.y);
    count(x.z);
    count(x.w);
  }
}

__device__ __forceinline__ unsigned device_bin(DeviceWord word, unsigned bins) {
  return __umulhi(word, bins);  // bin_of in one instruction
}

__global__ void __launch_bounds__(threads)
    histogram_global(DeviceWord* counts, unsigned bins, const uint4* from, index_t vectors) {
  count_all(from, vectors,
            [=](DeviceWord word) { atomicAdd(counts + device_bin(word, bins), 1U); });
}

__global__ void __launch_bounds__(threads)
    histogram_shared(DeviceWord* counts, unsigned bins, const uint4* from, index_t vectors) {
  extern __shared__ DeviceWord mine[];  // (bins)
  for (unsigned bin = threadIdx.x; bin < bins; bin += threads) mine[bin] = 0;
  __syncthreads();
  count_all(from, vectors, [=](DeviceWord word) { atomicAdd(mine + device_bin(word, bins), 1U); });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < bins; bin += threads) {
    if (mine[bin] != 0) atomicAdd(counts + bin, mine[bin]);
  }
}

enum class Bins { global, of_block };

class Histogram final : public LaunchedProbe {
 public:
  Histogram(const DeviceWalk& walk, Bins bins_in)
      : LaunchedProbe(walk.rounds),
        n_(word_count(walk)),
        bins_(walk.bins),
        bins_in_(bins_in),
        words_(words_on_device(n_)),
        counts_(walk.bins) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(counts_.data(), bins_);
    return exact(wrong_counts(got.data(), bins_, n_), bins_);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void launch(cudaStream_t stream) override {
    cuda::check(cudaMemsetAsync(counts_.data(), 0, byte_count(bins_), stream), "cudaMemsetAsync");
    const index_t vectors = n_ / 4;
    const index_t most = index_t{blocks_a_multiprocessor} * this_gpu().multiprocessors;
    const unsigned blocks = blocks_for(std::min(vectors, most * threads), threads);
    const auto from = reinterpret_cast<const uint4*>(words_.data());
    const auto bins = narrow<unsigned>(bins_);
    if (bins_in_ == Bins::global)
      histogram_global<<<blocks, threads, 0, stream>>>(counts_.data(), bins, from, vectors);
    else
      histogram_shared<<<blocks, threads, byte_count(bins_), stream>>>(counts_.data(), bins, from,
                                                                       vectors);
  }

  index_t n_, bins_;
  Bins bins_in_;
  DeviceWords words_, counts_;
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_histogram_global(const DeviceWalk& walk) {
  return std::make_unique<Histogram>(walk, Bins::global);
}
std::unique_ptr<DeviceProbe> cuda_histogram_shared(const DeviceWalk& walk) {
  return std::make_unique<Histogram>(walk, Bins::of_block);
}

void add_histogram_functions(Functions& to) {
  to.push_back(
      {"cuda_histogram_global", "", reinterpret_cast<const void*>(histogram_global), threads, 0});
  to.push_back({"cuda_histogram_shared", "256 bins",
                reinterpret_cast<const void*>(histogram_shared), threads,
                256 * static_cast<index_t>(sizeof(DeviceWord))});
}

}  // namespace tessera::inline v1::memory
