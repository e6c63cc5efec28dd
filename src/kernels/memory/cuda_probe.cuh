#pragma once
// Functions shared by the device probes: data on the device, launches timed by events, sums over a
// warp and a block.

#include <algorithm>

#include "kernels/memory/cuda_probes.hpp"
#include "kernels/memory/device_words.hpp"
#include "machine/buffer.hpp"
#include "machine/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::memory {

namespace cuda = machine::cuda;
using DeviceWords = cuda::DeviceBuffer<DeviceWord>;

/// Returns the device that this rank uses.
inline const machine::Gpu& this_gpu() { return cuda::current_gpu(); }

inline std::size_t byte_count(index_t words) {
  return static_cast<std::size_t>(words) * sizeof(DeviceWord);
}

inline index_t word_count(const DeviceWalk& walk) {
  return walk.bytes / static_cast<index_t>(sizeof(DeviceWord));
}

inline unsigned blocks_for(index_t items, index_t per_block) {
  return narrow<unsigned>(std::max<index_t>(1, ceil_div(items, per_block)));
}

/// Returns the threads of a probe in registers: as the size says, otherwise four times as many as
/// are resident on the device.
inline index_t threads_of(const DeviceWalk& walk, index_t block) {
  if (walk.bytes > 0) return round_up(word_count(walk), block);
  const machine::Gpu& gpu = this_gpu();
  return round_up(index_t{4} * gpu.multiprocessors * gpu.threads, block);
}

static __global__ void fill_kernel(DeviceWord* to, index_t n) {
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = word_at(i);
}

/// Sets words[i] = word_at(i); finished on return.
inline void fill(const DeviceWords& words) {
  fill_kernel<<<blocks_for(words.size(), 1 << 14), 256>>>(words.data(), words.size());
  cuda::check(cudaGetLastError(), "fill kernel");
  cuda::check(cudaDeviceSynchronize(), "fill kernel");
}

/// Returns word_at(0) ... word_at(n - 1) on the device.
inline DeviceWords words_on_device(index_t n) {
  DeviceWords words(n);
  fill(words);
  return words;
}

template <class T>
machine::Buffer<T> to_host(const T* device, index_t count) {
  machine::Buffer<T> host(count);
  cuda::check(cudaMemcpy(host.data(), device, static_cast<std::size_t>(count) * sizeof(T),
                         cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  return host;
}

/// Returns the check of an exact result: the ratio of wrong to all.
inline DeviceCheck exact(index_t wrong, index_t all) {
  const double share = static_cast<double>(wrong) / static_cast<double>(std::max<index_t>(1, all));
  return {"exact", share, 0, wrong};
}

/// A probe whose run is a sequence of launches.
class LaunchedProbe : public DeviceProbe {
 public:
  explicit LaunchedProbe(index_t launches) : launches_(launches) {}
  [[nodiscard]] double run() override {
    prepare();
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // prepare() uses another stream
    cuda::Stopwatch watch(stream_);
    for (index_t i = 0; i < launches_; ++i) launch(stream_);
    cuda::check(cudaGetLastError(), "probe kernel");
    return watch.seconds();
  }

 protected:
  virtual void prepare() {}
  virtual void launch(cudaStream_t stream) = 0;
  [[nodiscard]] double launches() const { return static_cast<double>(launches_); }

 private:
  cuda::Stream stream_;
  index_t launches_;
};

/// Returns x, opaque to the compiler, which would otherwise merge several steps with constants into
/// one.
__device__ __forceinline__ DeviceWord opaque(DeviceWord x) {
  asm volatile("" : "+r"(x));
  return x;
}

__device__ __forceinline__ DeviceWord warp_sum(DeviceWord value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_down_sync(0xffffffffU, value, apart);
  return value;
}

/// Returns the sum over the block, in its first thread. The block consists of whole warps; all its
/// threads must call.
__device__ __forceinline__ DeviceWord block_sum(DeviceWord value) {
  __shared__ DeviceWord sums[32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  value = warp_sum(value);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_sum(lane < static_cast<int>(blockDim.x) / 32 ? sums[lane] : 0);
  return value;
}

}  // namespace tessera::inline v1::memory
