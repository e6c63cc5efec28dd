// The first kernels of a lecture: increment, vector addition, and reversal with and without shared
// memory (Harris 2013), also without its barrier.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256;

__device__ __forceinline__ index_t this_thread() {
  return static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
}

__global__ void __launch_bounds__(threads) increment(DeviceWord* a, index_t n) {
  const index_t i = this_thread();
  if (i < n) ++a[i];
}

__global__ void __launch_bounds__(threads)
    add(DeviceWord* c, const DeviceWord* a, const DeviceWord* b, index_t n) {
  const index_t i = this_thread();
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void __launch_bounds__(threads)
    reverse_directly(DeviceWord* to, const DeviceWord* from, index_t n) {
  const index_t i = this_thread();
  if (i < n) to[n - 1 - i] = from[i];
}

/// Reverses the block's words inside a tile (threads,) of shared memory and stores them at the
/// mirrored place. Without the barrier a thread may read a word before its owner has stored it.
template <Reversal kind>
__device__ __forceinline__ void reverse_tile(DeviceWord* tile, DeviceWord* to,
                                             const DeviceWord* from, index_t n) {
  const index_t first = static_cast<index_t>(blockIdx.x) * threads;
  const int i = static_cast<int>(threadIdx.x),
            count = static_cast<int>(n - first < threads ? n - first : threads);
  if (i < count) tile[i] = from[first + i];
  if constexpr (kind != Reversal::race) __syncthreads();
  if (i < count) to[n - first - count + i] = tile[count - 1 - i];
}

template <Reversal kind>
__global__ void __launch_bounds__(threads)
    reverse_static(DeviceWord* to, const DeviceWord* from, index_t n) {
  __shared__ DeviceWord tile[threads];
  reverse_tile<kind>(tile, to, from, n);
}

__global__ void __launch_bounds__(threads)
    reverse_dynamic(DeviceWord* to, const DeviceWord* from, index_t n) {
  extern __shared__ DeviceWord tile[];  // as many bytes as the launch says
  reverse_tile<Reversal::dynamic_shared>(tile, to, from, n);
}

class Increment final : public LaunchedProbe {
 public:
  explicit Increment(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds), n_(word_count(walk)), times_(walk.rounds), words_(n_) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(words_.data(), n_);
    return exact(wrong_increments(got.data(), n_, times_), n_);
  }
  [[nodiscard]] double work() const override {
    return 2.0 * static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void prepare() override { fill(words_); }
  void launch(cudaStream_t stream) override {
    increment<<<blocks_for(n_, threads), threads, 0, stream>>>(words_.data(), n_);
  }

  index_t n_, times_;
  DeviceWords words_;
};

class Add final : public LaunchedProbe {
 public:
  explicit Add(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds), n_(word_count(walk)), from_(words_on_device(2 * n_)), to_(n_) {
    cuda::check(cudaMemset(to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
  }
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(to_.data(), n_);
    return exact(wrong_sums(got.data(), n_), n_);
  }
  [[nodiscard]] double work() const override {
    return 3.0 * static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void launch(cudaStream_t stream) override {
    add<<<blocks_for(n_, threads), threads, 0, stream>>>(to_.data(), from_.data(),
                                                         from_.data() + n_, n_);
  }

  index_t n_;
  DeviceWords from_, to_;
};

template <Reversal kind>
class Reverse final : public LaunchedProbe {
 public:
  explicit Reverse(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds), n_(word_count(walk)), from_(words_on_device(n_)), to_(n_) {}
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(to_.data(), n_);
    return exact(wrong_reversals(got.data(), n_), n_);
  }
  [[nodiscard]] double work() const override {
    return 2.0 * static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void prepare() override {
    cuda::check(cudaMemset(to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
  }
  void launch(cudaStream_t stream) override {
    const unsigned blocks = blocks_for(n_, threads);
    if constexpr (kind == Reversal::direct)
      reverse_directly<<<blocks, threads, 0, stream>>>(to_.data(), from_.data(), n_);
    else if constexpr (kind == Reversal::dynamic_shared)
      reverse_dynamic<<<blocks, threads, byte_count(threads), stream>>>(to_.data(), from_.data(),
                                                                        n_);
    else
      reverse_static<kind><<<blocks, threads, 0, stream>>>(to_.data(), from_.data(), n_);
  }

  index_t n_;
  DeviceWords from_, to_;
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_increment(const DeviceWalk& walk) {
  return std::make_unique<Increment>(walk);
}
std::unique_ptr<DeviceProbe> cuda_add(const DeviceWalk& walk) {
  return std::make_unique<Add>(walk);
}
template <Reversal kind>
std::unique_ptr<DeviceProbe> cuda_reverse(const DeviceWalk& walk) {
  return std::make_unique<Reverse<kind>>(walk);
}
template std::unique_ptr<DeviceProbe> cuda_reverse<Reversal::direct>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reverse<Reversal::static_shared>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reverse<Reversal::dynamic_shared>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_reverse<Reversal::race>(const DeviceWalk&);

void add_element_functions(Functions& to) {
  to.push_back(machine::device_function("cuda_increment", "", increment, threads));
  to.push_back(machine::device_function("cuda_add", "", add, threads));
  to.push_back(machine::device_function("cuda_reverse", "", reverse_directly, threads));
  to.push_back(machine::device_function("cuda_reverse_static", "",
                                        reverse_static<Reversal::static_shared>, threads));
  to.push_back(machine::device_function("cuda_reverse_dynamic", "", reverse_dynamic, threads,
                                        threads * index_t{sizeof(DeviceWord)}));
  to.push_back(
      machine::device_function("cuda_reverse_race", "", reverse_static<Reversal::race>, threads));
}

}  // namespace tessera::inline v1::memory
