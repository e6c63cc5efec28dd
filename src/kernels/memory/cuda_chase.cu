// Pointer chases by one thread through each memory of a GPU: the latency of its levels (as the
// microbenchmarks of Wong et al. 2010, and Mei and Chu 2017).

#include "kernels/memory/cuda_texture.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 32;  // of which one follows the cycle
constexpr index_t most_shared = index_t{48} << 10, most_constant = index_t{64} << 10;

__constant__ DeviceWord constant_cycle[most_constant / sizeof(DeviceWord)];

/// Follows `steps` links: at = load(at), and stores where they lead.
template <class Load>
__device__ __forceinline__ void follow(const Load& load, int steps, DeviceWord* end) {
  if (threadIdx.x != 0) return;
  DeviceWord at = 0;
#pragma unroll 8
  for (int step = 0; step < steps; ++step) at = load(at);
  *end = at;
}

__global__ void __launch_bounds__(threads)
    chase_global(const DeviceWord* cycle, int steps, DeviceWord* end) {
  follow([=](DeviceWord at) { return __ldca(cycle + at); }, steps, end);  // by way of L1
}

/// Words `apart` words from each other are the numbers of the next ones, read by way of L2.
__global__ void __launch_bounds__(threads)
    chase_pages(const DeviceWord* pages, index_t apart, int steps, DeviceWord* end) {
  follow([=](DeviceWord at) { return __ldcg(pages + at * apart); }, steps, end);
}

__global__ void __launch_bounds__(threads)
    chase_texture(cudaTextureObject_t cycle, int steps, DeviceWord* end) {
  follow([=](DeviceWord at) { return tex1Dfetch<DeviceWord>(cycle, static_cast<int>(at)); }, steps,
         end);
}

__global__ void __launch_bounds__(threads) chase_constant(int steps, DeviceWord* end) {
  follow([](DeviceWord at) { return constant_cycle[at]; }, steps, end);
}

__global__ void __launch_bounds__(threads)
    chase_shared(const DeviceWord* cycle, int words, int steps, DeviceWord* end) {
  __shared__ DeviceWord mine[most_shared / sizeof(DeviceWord)];
  for (int i = static_cast<int>(threadIdx.x); i < words; i += threads) mine[i] = cycle[i];
  __syncthreads();
  follow([](DeviceWord at) { return mine[at]; }, steps, end);
}

/// A chase through a cycle that the host knows.
class Chase : public LaunchedProbe {
 public:
  Chase(const DeviceWalk& walk, std::vector<DeviceWord> host)
      : LaunchedProbe(1), steps_(narrow<int>(walk.rounds)), host_(std::move(host)), end_(1) {}
  [[nodiscard]] DeviceCheck check() override {
    DeviceWord at = 0;
    for (int step = 0; step < steps_; ++step) at = host_[at];
    return exact(to_host(end_.data(), 1)[0] == at ? 0 : 1, 1);
  }
  [[nodiscard]] double work() const override { return steps_; }

 protected:
  virtual void run_kernel(cudaStream_t stream) = 0;
  [[nodiscard]] const std::vector<DeviceWord>& host() const { return host_; }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] DeviceWord* end() const { return end_.data(); }

 private:
  /// Warms the second-level cache.
  void prepare() override {
    cuda::check(cudaMemset(end_.data(), 0xa5, byte_count(1)), "cudaMemset");
    run_kernel(cudaStreamPerThread);
  }
  void launch(cudaStream_t stream) override { run_kernel(stream); }

  int steps_;
  std::vector<DeviceWord> host_;
  DeviceWords end_;
};

/// A chase whose cycle is dense on the device: words are the places of the next ones.
class DenseChase : public Chase {
 public:
  DenseChase(const DeviceWalk& walk, index_t stride)
      : Chase(walk, cycle_of(word_count(walk), stride)), cycle_(ssize(host())) {
    cuda::upload(cycle_.data(), host().data(), host().size());
  }

 protected:
  [[nodiscard]] const DeviceWords& cycle() const { return cycle_; }

 private:
  DeviceWords cycle_;
};

constexpr index_t line_words = 32;

class Global final : public DenseChase {
 public:
  explicit Global(const DeviceWalk& walk) : DenseChase(walk, line_words) {}

 private:
  void run_kernel(cudaStream_t stream) override {
    chase_global<<<1, threads, 0, stream>>>(cycle().data(), steps(), end());
  }
};

/// A word a page: the host stores the few links only.
class Pages final : public Chase {
 public:
  explicit Pages(const DeviceWalk& walk)
      : Chase(walk, cycle_of(std::max<index_t>(1, walk.bytes / walk.page), 1)),
        apart_(walk.page / index_t{sizeof(DeviceWord)}),
        pages_(apart_ * ssize(host())) {
    cuda::check(cudaMemcpy2D(pages_.data(), byte_count(apart_), host().data(), byte_count(1),
                             byte_count(1), host().size(), cudaMemcpyHostToDevice),
                "cudaMemcpy2D");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  void run_kernel(cudaStream_t stream) override {
    chase_pages<<<1, threads, 0, stream>>>(pages_.data(), apart_, steps(), end());
  }
  index_t apart_;
  DeviceWords pages_;
};

class Textured final : public DenseChase {
 public:
  explicit Textured(const DeviceWalk& walk) : DenseChase(walk, line_words), texture_(cycle()) {}

 private:
  void run_kernel(cudaStream_t stream) override {
    chase_texture<<<1, threads, 0, stream>>>(texture_.object(), steps(), end());
  }
  Texture<DeviceWord> texture_;
};

class Constant final : public DenseChase {
 public:
  explicit Constant(const DeviceWalk& walk) : DenseChase(walk, line_words / 2) {
    cuda::check(cudaMemcpyToSymbol(constant_cycle, cycle().data(), byte_count(cycle().size()), 0,
                                   cudaMemcpyDeviceToDevice),
                "cudaMemcpyToSymbol");
  }

 private:
  void run_kernel(cudaStream_t stream) override {
    chase_constant<<<1, threads, 0, stream>>>(steps(), end());
  }
};

class Shared final : public DenseChase {
 public:
  explicit Shared(const DeviceWalk& walk) : DenseChase(walk, 1) {}

 private:
  void run_kernel(cudaStream_t stream) override {
    chase_shared<<<1, threads, 0, stream>>>(cycle().data(), narrow<int>(cycle().size()), steps(),
                                            end());
  }
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_chase(const DeviceWalk& walk) {
  return std::make_unique<Global>(walk);
}
std::unique_ptr<DeviceProbe> cuda_chase_pages(const DeviceWalk& walk) {
  return std::make_unique<Pages>(walk);
}
std::unique_ptr<DeviceProbe> cuda_chase_texture(const DeviceWalk& walk) {
  return std::make_unique<Textured>(walk);
}
std::unique_ptr<DeviceProbe> cuda_chase_constant(const DeviceWalk& walk) {
  return std::make_unique<Constant>(walk);
}
std::unique_ptr<DeviceProbe> cuda_chase_shared(const DeviceWalk& walk) {
  return std::make_unique<Shared>(walk);
}

void add_chase_functions(Functions& to) {
  const auto add = [&](const char* name, auto* kernel) {
    to.push_back({name, "", reinterpret_cast<const void*>(kernel), threads, 0});
  };
  add("cuda_chase", chase_global);
  add("cuda_chase_pages", chase_pages);
  add("cuda_chase_texture", chase_texture);
  add("cuda_chase_constant", chase_constant);
  add("cuda_chase_shared", chase_shared);
}

}  // namespace tessera::inline v1::memory
