// Transfers between host and device: from pageable, pinned and managed memory, and between devices.

#include "base/timer.hpp"
#include "kernels/memory/cuda_steps.cuh"

namespace tessera::inline v1::memory {
namespace {

__global__ void __launch_bounds__(step_threads)
    sum_kernel(DeviceWord* result, const DeviceWord* from, index_t n) {
  const index_t stride = static_cast<index_t>(gridDim.x) * step_threads;
  DeviceWord sum = 0;
  for (index_t i = static_cast<index_t>(blockIdx.x) * step_threads + threadIdx.x; i < n;
       i += stride)
    sum += from[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

template <HostMemory memory>
using Host = std::conditional_t<memory == HostMemory::pinned, cuda::PinnedBuffer<DeviceWord>,
                                machine::Buffer<DeviceWord>>;

/// A transfer of the whole array in one copy.
template <HostMemory memory, Direction direction>
class Transfer final : public LaunchedProbe {
 public:
  explicit Transfer(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds), n_(word_count(walk)), device_(words_on_device(n_)), host_(n_) {
    if constexpr (direction == Direction::to_device) {
      fill_words(host_.data(), n_);
      cuda::check(cudaMemset(device_.data(), 0xa5, byte_count(n_)), "cudaMemset");
    } else {
      poison(host_.data(), n_);
    }
  }
  [[nodiscard]] DeviceCheck check() override {
    if constexpr (direction == Direction::from_device) {
      return exact(wrong_copies(host_.data(), n_, 0, 1, n_), n_);
    } else {
      const auto got = to_host(device_.data(), n_);
      return exact(wrong_copies(got.data(), n_, 0, 1, n_), n_);
    }
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void launch(cudaStream_t stream) override {
    if constexpr (direction == Direction::to_device)
      cuda::check(cudaMemcpyAsync(device_.data(), host_.data(), byte_count(n_),
                                  cudaMemcpyHostToDevice, stream),
                  "cudaMemcpyAsync");
    else
      cuda::check(cudaMemcpyAsync(host_.data(), device_.data(), byte_count(n_),
                                  cudaMemcpyDeviceToHost, stream),
                  "cudaMemcpyAsync");
  }

  index_t n_;
  DeviceWords device_;
  Host<memory> host_;
};

/// A transfer from this device to the next one, by the link between them where the driver can use
/// it directly.
class Peer final : public LaunchedProbe {
 public:
  Peer(const DeviceWalk& walk, int other)
      : LaunchedProbe(walk.rounds),
        other_(other),
        here_(this_gpu().number),
        n_(word_count(walk)),
        from_(words_on_device(n_)) {
    int direct = 0;
    cuda::check(cudaDeviceCanAccessPeer(&direct, here_, other_), "cudaDeviceCanAccessPeer");
    if (direct != 0 && cudaDeviceEnablePeerAccess(other_, 0) != cudaSuccess)
      (void)cudaGetLastError();  // enabled before
    cuda::check(cudaSetDevice(other_), "cudaSetDevice");
    to_ = DeviceWords(n_);
    cuda::check(cudaMemset(to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cuda::check(cudaSetDevice(here_), "cudaSetDevice");
  }
  [[nodiscard]] DeviceCheck check() override {
    const auto got = to_host(to_.data(), n_);
    return exact(wrong_copies(got.data(), n_, 0, 1, n_), n_);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * launches();
  }

 private:
  void launch(cudaStream_t stream) override {
    cuda::check(
        cudaMemcpyPeerAsync(to_.data(), other_, from_.data(), here_, byte_count(n_), stream),
        "cudaMemcpyPeerAsync");
  }

  int other_, here_;
  index_t n_;
  DeviceWords from_, to_;
};

/// Page migration of managed memory: written on one side, then read on the other; the read is
/// timed.
template <Direction direction>
class Managed final : public DeviceProbe {
 public:
  explicit Managed(const DeviceWalk& walk)
      : n_(word_count(walk)),
        launches_(walk.rounds),
        words_(n_),
        source_(words_on_device(n_)),
        sum_(1) {
    const index_t free = machine::free_gpu_memory();
    require(walk.bytes <= free / 8, ExitCode::memory,
            "--size exceeds the limit of managed memory, 1/8 of the free device memory; use a "
            "smaller --size");
  }
  [[nodiscard]] double run() override {
    double seconds = 0;
    for (index_t i = 0; i < launches_; ++i)
      seconds += direction == Direction::to_device ? to() : from();
    return seconds;
  }
  [[nodiscard]] DeviceCheck check() override {
    return exact(found_ == sum_of_words(n_) ? 0 : 1, 1);
  }
  [[nodiscard]] double work() const override {
    return static_cast<double>(byte_count(n_)) * static_cast<double>(launches_);
  }

 private:
  double to() {
    fill_words(words_.data(), n_);
    cuda::check(cudaMemsetAsync(sum_.data(), 0, sizeof(DeviceWord), stream_), "cudaMemsetAsync");
    cuda::Stopwatch watch(stream_);
    sum_kernel<<<some_blocks(n_), step_threads, 0, stream_>>>(sum_.data(), words_.data(), n_);
    cuda::check(cudaGetLastError(), "probe kernel");
    const double seconds = watch.seconds();
    found_ = to_host(sum_.data(), 1)[0];
    return seconds;
  }
  double from() {
    steps<<<some_blocks(n_), step_threads, 0, stream_>>>(words_.data(), source_.data(), n_, 0);
    cuda::check(cudaGetLastError(), "probe kernel");
    stream_.wait();
    const Timer timer;
    found_ = sum(words_.data(), n_);
    return timer.seconds();
  }

  index_t n_, launches_;
  cuda::ManagedBuffer<DeviceWord> words_;
  DeviceWords source_, sum_;
  cuda::Stream stream_;
  DeviceWord found_ = 0;
};

}  // namespace

template <HostMemory memory, Direction direction>
std::unique_ptr<DeviceProbe> cuda_transfer(const DeviceWalk& walk) {
  if constexpr (memory == HostMemory::managed)
    return std::make_unique<Managed<direction>>(walk);
  else
    return std::make_unique<Transfer<memory, direction>>(walk);
}
using enum HostMemory;
using enum Direction;
template std::unique_ptr<DeviceProbe> cuda_transfer<pageable, to_device>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transfer<pinned, to_device>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transfer<managed, to_device>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transfer<pageable, from_device>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transfer<pinned, from_device>(const DeviceWalk&);
template std::unique_ptr<DeviceProbe> cuda_transfer<managed, from_device>(const DeviceWalk&);

std::unique_ptr<DeviceProbe> cuda_peer_to_peer(const DeviceWalk& walk) {
  const std::vector<machine::Gpu>& all = machine::gpus().devices;
  for (std::size_t g = 0; g < all.size(); ++g) {
    if (all[g].number != this_gpu().number || all.size() < 2) continue;
    return std::make_unique<Peer>(walk, all[(g + 1) % all.size()].number);
  }
  return nullptr;
}

void add_transfer_functions(Functions& to) {
  to.push_back(
      {"cuda_managed_to_device", "", reinterpret_cast<const void*>(sum_kernel), step_threads, 0});
}

}  // namespace tessera::inline v1::memory
