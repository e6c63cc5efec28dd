// Transfers between host and device: from pageable, pinned and managed memory, and pipelined in
// pieces on several streams.

#include "base/timer.hpp"
#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {
namespace {

constexpr int threads = 256;

/// Computes to[i] = step^rounds (from[i]).
__global__ void __launch_bounds__(threads)
    steps(DeviceWord* to, const DeviceWord* from, index_t n, int rounds) {
  const index_t stride = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += stride) {
    DeviceWord x = from[i];
#pragma unroll 8
    for (int round = 0; round < rounds; ++round) x = opaque(step_of(0)(x));
    to[i] = x;
  }
}

__global__ void __launch_bounds__(threads)
    sum_kernel(DeviceWord* result, const DeviceWord* from, index_t n) {
  const index_t stride = static_cast<index_t>(gridDim.x) * threads;
  DeviceWord sum = 0;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += stride)
    sum += from[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(result, sum);
}

unsigned some_blocks(index_t n) {
  return blocks_for(std::min(n, index_t{8} * this_gpu().multiprocessors * threads), threads);
}

index_t words_of(const DeviceWalk& walk) {
  return walk.bytes / static_cast<index_t>(sizeof(DeviceWord));
}

void poison(DeviceWord* host, index_t n) { std::fill_n(host, n, untouched); }

template <HostMemory memory>
using Host = std::conditional_t<memory == HostMemory::pinned, cuda::PinnedBuffer<DeviceWord>,
                                machine::Buffer<DeviceWord>>;

/// A transfer of the whole array in one copy.
template <HostMemory memory, Direction direction>
class Transfer final : public LaunchedProbe {
 public:
  explicit Transfer(const DeviceWalk& walk)
      : LaunchedProbe(walk.rounds), n_(words_of(walk)), device_(words_on_device(n_)), host_(n_) {
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
        n_(words_of(walk)),
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
      : n_(words_of(walk)),
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
    sum_kernel<<<some_blocks(n_), threads, 0, stream_>>>(sum_.data(), words_.data(), n_);
    cuda::check(cudaGetLastError(), "probe kernel");
    const double seconds = watch.seconds();
    found_ = to_host(sum_.data(), 1)[0];
    return seconds;
  }
  double from() {
    steps<<<some_blocks(n_), threads, 0, stream_>>>(words_.data(), source_.data(), n_, 0);
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

constexpr index_t pieces = 16;

/// A pipeline: every piece goes to the device, through a kernel and back, in the order of its
/// stream.
class Streams final : public DeviceProbe {
 public:
  explicit Streams(const DeviceWalk& walk)
      : n_(words_of(walk)),
        rounds_(walk.rounds),
        from_(n_),
        to_(n_),
        device_from_(n_),
        device_to_(n_),
        streams_(static_cast<std::size_t>(walk.streams)),
        events_(4 * pieces) {
    fill_words(from_.data(), n_);
  }
  [[nodiscard]] double run() override {
    poison(to_.data(), n_);
    cuda::check(cudaMemset(device_to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    begin_.record(streams_.front());
    for (std::size_t s = 1; s < streams_.size(); ++s) begin_.before_next(streams_[s]);
    for (index_t piece = 0; piece < pieces; ++piece) issue(piece);
    for (const cuda::Stream& stream : streams_) stream.wait();
    spans_ = stays();
    double last = 0;
    for (const DeviceSpan& span : spans_) last = std::max(last, span.end);
    return last;
  }
  [[nodiscard]] DeviceCheck check() override {
    return exact(wrong_powers(to_.data(), n_, 1, rounds_), n_);
  }
  [[nodiscard]] double work() const override { return 2.0 * static_cast<double>(byte_count(n_)); }
  [[nodiscard]] std::vector<DeviceSpan> spans() const override { return spans_; }

 private:
  [[nodiscard]] index_t stream_of(index_t piece) const {
    return piece % static_cast<index_t>(streams_.size());
  }
  [[nodiscard]] cuda::Event& event(index_t piece, int number) {
    return events_[static_cast<std::size_t>(4 * piece + number)];
  }

  void issue(index_t piece) {
    const index_t begin = n_ * piece / pieces, count = n_ * (piece + 1) / pieces - begin;
    const cuda::Stream& stream = streams_[static_cast<std::size_t>(stream_of(piece))];
    event(piece, 0).record(stream);
    cuda::check(cudaMemcpyAsync(device_from_.data() + begin, from_.data() + begin,
                                byte_count(count), cudaMemcpyHostToDevice, stream),
                "cudaMemcpyAsync");
    event(piece, 1).record(stream);
    if (count > 0)
      steps<<<some_blocks(count), threads, 0, stream>>>(
          device_to_.data() + begin, device_from_.data() + begin, count, narrow<int>(rounds_));
    cuda::check(cudaGetLastError(), "probe kernel");
    event(piece, 2).record(stream);
    cuda::check(cudaMemcpyAsync(to_.data() + begin, device_to_.data() + begin, byte_count(count),
                                cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync");
    event(piece, 3).record(stream);
  }

  /// Returns the spans of all transfers and kernels. An event records the completion of the
  /// preceding work in its stream, not the start of the following, which may wait for an engine.
  /// Transfers of one direction are serialised, so one begins no sooner than the previous one ends;
  /// for kernels of several streams the start is not known more precisely.
  [[nodiscard]] std::vector<DeviceSpan> stays() {
    std::vector<DeviceSpan> result;
    double to_free = 0, from_free = 0;
    for (index_t piece = 0; piece < pieces; ++piece) {
      double at[4];
      for (int e = 0; e < 4; ++e) at[e] = event(piece, e).seconds_since(begin_);
      const index_t stream = stream_of(piece);
      result.push_back(
          {"to device", piece, stream, std::min(std::max(at[0], to_free), at[1]), at[1]});
      result.push_back({"kernel", piece, stream, at[1], at[2]});
      result.push_back(
          {"from device", piece, stream, std::min(std::max(at[2], from_free), at[3]), at[3]});
      to_free = at[1];
      from_free = at[3];
    }
    return result;
  }

  index_t n_, rounds_;
  cuda::PinnedBuffer<DeviceWord> from_, to_;
  DeviceWords device_from_, device_to_;
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Event> events_;
  cuda::Event begin_;
  std::vector<DeviceSpan> spans_;
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

std::unique_ptr<DeviceProbe> cuda_streams(const DeviceWalk& walk) {
  return std::make_unique<Streams>(walk);
}

void add_transfer_functions(Functions& to) {
  to.push_back({"cuda_streams", "", reinterpret_cast<const void*>(steps), threads, 0});
  to.push_back(
      {"cuda_managed_to_device", "", reinterpret_cast<const void*>(sum_kernel), threads, 0});
}

}  // namespace tessera::inline v1::memory
