// Reduction of an array in the optimisation steps of Harris (2007), and the streaming read whose
// bandwidth bounds it.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256;

/// Words that a block adds up.
template <ReduceStep step>
constexpr int words_of =
    step == ReduceStep::first_add || step == ReduceStep::shuffle ? 2 * threads : threads;

/// Computes to[block] = the sum of the block's words of from[0:n].
template <ReduceStep step>
__global__ void __launch_bounds__(threads)
    reduce_block(DeviceWord* to, const DeviceWord* from, index_t n) {
  const int t = static_cast<int>(threadIdx.x);
  const index_t i = static_cast<index_t>(blockIdx.x) * words_of<step> + t;
  DeviceWord value = i < n ? from[i] : 0;
  if constexpr (words_of<step> != threads) value += i + threads < n ? from[i + threads] : 0;
  if constexpr (step == ReduceStep::shuffle) {
    value = block_sum(value);
    if (t == 0) to[blockIdx.x] = value;
  } else {
    __shared__ DeviceWord words[threads];
    words[t] = value;
    __syncthreads();
    if constexpr (step == ReduceStep::interleaved) {
      for (int apart = 1; apart < threads; apart *= 2) {
        if (t % (2 * apart) == 0) words[t] += words[t + apart];
        __syncthreads();
      }
    } else {
      for (int apart = threads / 2; apart > 0; apart /= 2) {
        if (t < apart) words[t] += words[t + apart];
        __syncthreads();
      }
    }
    if (t == 0) to[blockIdx.x] = words[0];
  }
}

/// A reduction that launches a step repeatedly on its partial sums, until one word is left.
template <ReduceStep step>
class StepwiseReduction final : public LaunchedProbe {
 public:
  explicit StepwiseReduction(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds),
        n_(word_count(walk)),
        words_(words_on_device(n_)),
        partial_{DeviceWords(ceil_div(n_, words_of<step>)),
                 DeviceWords(ceil_div(ceil_div(n_, words_of<step>), words_of<step>))} {}
  [[nodiscard]] DeviceCheck check() override {
    return exact(to_host(result_, 1)[0] == sum_of_words(n_) ? 0 : 1, 1);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void prepare() override {
    for (const DeviceWords& partial : partial_)
      cuda::check(cudaMemset(partial.data(), 0xa5, byte_count(partial.size())), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    const DeviceWord* from = words_.data();
    index_t left = n_;
    for (int turn = 0; left > 1 || turn == 0; turn = turn == 1 ? 2 : 1) {
      DeviceWord* const to = partial_[turn == 1 ? 1 : 0].data();
      const unsigned blocks = blocks_for(left, words_of<step>);
      reduce_block<step><<<blocks, threads, 0, stream>>>(to, from, left);
      from = to;
      left = blocks;
    }
    result_ = from;
  }

  index_t n_;
  DeviceWords words_;
  DeviceWords partial_[2];  // alternating inputs and outputs of launches
  const DeviceWord* result_ = nullptr;
};

/// Returns a thread's sum over all vectors, with `loads` loads in flight at a time.
template <int loads>
__device__ __forceinline__ DeviceWord sum_of_thread(const uint4* from, index_t vectors) {
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  DeviceWord sum = 0;
  for (; i + (loads - 1) * step < vectors; i += loads * step) {
    uint4 x[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) x[u] = __ldcs(from + i + u * step);
#pragma unroll
    for (int u = 0; u < loads; ++u) sum += x[u].x + x[u].y + x[u].z + x[u].w;
  }
  for (; i < vectors; i += step) {
    const uint4 x = __ldcs(from + i);
    sum += x.x + x.y + x.z + x.w;
  }
  return sum;
}

template <int loads>
__global__ void read_stream(DeviceWord* sums, const uint4* from, index_t vectors) {
  sums[static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x] =
      sum_of_thread<loads>(from, vectors);
}

template <int loads>
__global__ void reduce_stream(DeviceWord* result, const uint4* from, index_t vectors) {
  const DeviceWord sum = block_sum(sum_of_thread<loads>(from, vectors));
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

enum class Sums { of_threads, one };

using StreamKernel = void (*)(DeviceWord*, const uint4*, index_t);
template <int loads>
constexpr StreamKernel kernel_of(Sums sums) {
  return sums == Sums::one ? reduce_stream<loads> : read_stream<loads>;
}

class StreamedSum final : public LaunchedProbe {
 public:
  StreamedSum(const DeviceWalk& walk, const StreamTuning& tuning, Sums sums)
      : LaunchedProbe(walk.rounds),
        n_(word_count(walk)),
        tuning_(tuning),
        sums_of_(sums),
        words_(words_on_device(n_)) {
    // At most as many blocks as have work.
    const index_t useful = ceil_div(n_ / 4, tuning.threads);
    blocks_ = narrow<unsigned>(std::max<index_t>(
        1, std::min<index_t>(useful, index_t{tuning.blocks} * this_gpu().multiprocessors)));
    sums_ = DeviceWords(sums == Sums::one ? 1 : index_t{blocks_} * tuning.threads);
  }
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(sums_.data(), sums_.size());
    return exact(sum(got.data(), got.size()) == sum_of_words(n_) ? 0 : 1, 1);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void prepare() override {
    cuda::check(cudaMemset(sums_.data(), 0xa5, byte_count(sums_.size())), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    if (sums_of_ == Sums::one)
      cuda::check(cudaMemsetAsync(sums_.data(), 0, sizeof(DeviceWord), stream), "cudaMemsetAsync");
    const StreamKernel kernel = tuning_.loads >= 8   ? kernel_of<8>(sums_of_)
                                : tuning_.loads >= 4 ? kernel_of<4>(sums_of_)
                                : tuning_.loads >= 2 ? kernel_of<2>(sums_of_)
                                                     : kernel_of<1>(sums_of_);
    kernel<<<blocks_, narrow<unsigned>(index_t{tuning_.threads}), 0, stream>>>(
        sums_.data(), reinterpret_cast<const uint4*>(words_.data()), n_ / 4);
  }

  index_t n_;
  StreamTuning tuning_;
  Sums sums_of_;
  unsigned blocks_ = 1;
  DeviceWords words_, sums_;
};

}  // namespace

template <ReduceStep step>
std::unique_ptr<DeviceProbe> cuda_reduce_step(const DeviceWalk& walk) {
  return std::make_unique<StepwiseReduction<step>>(walk);
}
template std::unique_ptr<DeviceProbe> cuda_reduce_step<ReduceStep::interleaved>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reduce_step<ReduceStep::sequential>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reduce_step<ReduceStep::first_add>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reduce_step<ReduceStep::shuffle>(const DeviceWalk&);

std::unique_ptr<DeviceProbe> cuda_read(const DeviceWalk& walk, const StreamTuning& tuning) {
  return std::make_unique<StreamedSum>(walk, tuning, Sums::of_threads);
}
std::unique_ptr<DeviceProbe> cuda_reduce(const DeviceWalk& walk, const StreamTuning& tuning) {
  return std::make_unique<StreamedSum>(walk, tuning, Sums::one);
}

void add_reduce_functions(Functions& to) {
  const StreamTuning usual;
  to.push_back({"cuda_read", "", reinterpret_cast<const void*>(read_stream<4>), usual.threads, 0});
  to.push_back({"cuda_reduce_interleaved", "",
                reinterpret_cast<const void*>(reduce_block<ReduceStep::interleaved>), threads, 0});
  to.push_back({"cuda_reduce_sequential", "",
                reinterpret_cast<const void*>(reduce_block<ReduceStep::sequential>), threads, 0});
  to.push_back({"cuda_reduce_first_add", "",
                reinterpret_cast<const void*>(reduce_block<ReduceStep::first_add>), threads, 0});
  to.push_back({"cuda_reduce_shuffle", "",
                reinterpret_cast<const void*>(reduce_block<ReduceStep::shuffle>), threads, 0});
  to.push_back(
      {"cuda_reduce", "", reinterpret_cast<const void*>(reduce_stream<4>), usual.threads, 0});
}

}  // namespace tessera::inline v1::memory
