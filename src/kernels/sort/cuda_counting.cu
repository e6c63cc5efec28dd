// Counting sort on the device, for keys of a small range: a histogram with one counter per value,
// an inclusive scan of the counters, and a search of the value for every position of the output.

#include <algorithm>
#include <string>

#include "base/element.hpp"
#include "kernels/cuda_code.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 512;
constexpr int scan_items = 8, scan_tile = threads * scan_items;
constexpr index_t local_bins = 48 * 1024;  // counters of 4 bytes in a block's shared memory

struct Range {
  unsigned long long min, max;
};

__device__ __forceinline__ index_t first_of_thread() {
  return static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ index_t all_threads() {
  return static_cast<index_t>(gridDim.x) * blockDim.x;
}

template <class Key>
__global__ void __launch_bounds__(threads)
    find_range(const Key* keys, index_t n, KeyMap<Key> map, Range* range) {
  unsigned long long low = ~0ULL, high = 0;
  for (index_t i = first_of_thread(); i < n; i += all_threads()) {
    const unsigned long long bits = map.to_bits(keys[i]);
    low = min(low, bits);
    high = max(high, bits);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    low = min(low, __shfl_xor_sync(all_lanes, low, step));
    high = max(high, __shfl_xor_sync(all_lanes, high, step));
  }
  if (lane_id() == 0) {
    atomicMin(&range->min, low);
    atomicMax(&range->max, high);
  }
}

template <class Key>
struct Counting {
  Key* keys;
  index_t n;
  KeyMap<Key> map;
  Key min;
  index_t bins;
  unsigned* counts;  ///< (bins); then the inclusive scan: how many keys are not greater
};

template <class Key>
__global__ void __launch_bounds__(threads) count_in_shared(Counting<Key> c) {
  extern __shared__ unsigned local_counts[];  // (bins)
  for (index_t b = threadIdx.x; b < c.bins; b += threads) local_counts[b] = 0;
  __syncthreads();
  for (index_t i = first_of_thread(); i < c.n; i += all_threads())
    atomicAdd(local_counts + (c.map.to_bits(c.keys[i]) - c.min), 1U);
  __syncthreads();
  for (index_t b = threadIdx.x; b < c.bins; b += threads) {
    if (local_counts[b] != 0) atomicAdd(c.counts + b, local_counts[b]);
  }
}
template <class Key>
__global__ void __launch_bounds__(threads) count_in_global(Counting<Key> c) {
  for (index_t i = first_of_thread(); i < c.n; i += all_threads())
    atomicAdd(c.counts + (c.map.to_bits(c.keys[i]) - c.min), 1U);
}

/// Returns the inclusive scan of x over the block; sets `sum` to the sum of all.
__device__ unsigned block_prefix_sum(unsigned x, unsigned& sum) {
  __shared__ unsigned warp_sums[threads / 32];
  const unsigned inclusive = warp_prefix_sum(x);
  __syncthreads();  // the sums of the previous call have been read
  if (lane_id() == 31) warp_sums[threadIdx.x / 32] = inclusive;
  __syncthreads();
  unsigned before = 0;
  sum = 0;
  for (unsigned w = 0; w < threads / 32; ++w) {
    if (w < threadIdx.x / 32) before += warp_sums[w];
    sum += warp_sums[w];
  }
  return before + inclusive;
}

/// Computes sums[tile] = the sum of the tile's counts.
__global__ void __launch_bounds__(threads)
    sum_tiles(const unsigned* counts, index_t bins, unsigned* sums) {
  const index_t begin = static_cast<index_t>(blockIdx.x) * scan_tile + threadIdx.x;
  unsigned mine = 0, sum = 0;
#pragma unroll
  for (int u = 0; u < scan_items; ++u) {
    if (begin + u * threads < bins) mine += counts[begin + u * threads];
  }
  (void)block_prefix_sum(mine, sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Computes the inclusive scan counts[b] = base + counts[0] + .. + counts[b] within a tile; base is
/// the sum before the tile, or 0. One block per tile, or a single block for all.
__global__ void __launch_bounds__(threads)
    add_up(unsigned* counts, index_t n, const unsigned* sums_before) {
  unsigned base = sums_before == nullptr || blockIdx.x == 0 ? 0 : sums_before[blockIdx.x - 1];
  const index_t begin = static_cast<index_t>(blockIdx.x) * scan_tile;
  const index_t end = sums_before == nullptr ? n : min(n, begin + scan_tile);
  for (index_t at = begin; at < end; at += threads) {
    const index_t i = at + threadIdx.x;
    unsigned sum = 0;
    const unsigned prefix = block_prefix_sum(i < end ? counts[i] : 0, sum);
    if (i < end) counts[i] = base + prefix;
    base += sum;
  }
}

/// Returns the first bin in [low, high] with more than `at` keys up to it. Precondition: high has.
__device__ __forceinline__ index_t bin_of(const unsigned* counts, index_t low, index_t high,
                                          index_t at) {
  while (low < high) {
    const index_t middle = (low + high) / 2;
    if (counts[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <class Key>
__global__ void __launch_bounds__(threads) fill_runs(Counting<Key> c) {
  constexpr index_t tile = threads * 16;
  __shared__ index_t ends[2];
  const index_t begin = blockIdx.x * tile, end = min(c.n, begin + tile);
  if (threadIdx.x < 2)
    ends[threadIdx.x] = bin_of(c.counts, 0, c.bins - 1, threadIdx.x == 0 ? begin : end - 1);
  __syncthreads();
  for (index_t i = begin + threadIdx.x; i < end; i += threads) {
    const index_t bin = bin_of(c.counts, ends[0], ends[1], i);
    c.keys[i] = c.map.to_raw(static_cast<Key>(c.min + static_cast<Key>(bin)));
  }
}

template <class Key>
Range range_of(const DeviceBlock<Key, NoValue>& block, cudaStream_t stream) {
  auto* const on_device = reinterpret_cast<Range*>(block.work);
  Range range{~0ULL, 0};
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    machine::cuda::check(cudaMemcpyAsync(to, from, sizeof(Range), kind, stream), "cudaMemcpyAsync");
    machine::cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  };
  copy(on_device, &range, cudaMemcpyHostToDevice);
  find_range<<<multiprocessors() * 4, threads, 0, stream>>>(block.keys, block.n, block.map,
                                                            on_device);
  check_launch("find_range");
  copy(&range, on_device, cudaMemcpyDeviceToHost);
  return range;
}

template <class Key>
void count(const Counting<Key>& c, cudaStream_t stream) {
  constexpr auto size = static_cast<index_t>(sizeof(unsigned));
  if (c.bins > std::min(local_bins, kernels::shared_bytes_per_block() / size)) {
    count_in_global<<<multiprocessors() * 4, threads, 0, stream>>>(c);
  } else {
    const int shared = static_cast<int>(c.bins * size);
    allow_shared(count_in_shared<Key>, shared);
    const unsigned blocks =
        resident_blocks(count_in_shared<Key>, threads, shared, ceil_div(c.n, threads));
    count_in_shared<<<blocks, threads, static_cast<std::size_t>(shared), stream>>>(c);
  }
  check_launch("count");
}

void sum_counts(unsigned* counts, index_t bins, unsigned* sums, cudaStream_t stream) {
  const unsigned tiles = narrow<unsigned>(ceil_div(bins, scan_tile));
  sum_tiles<<<tiles, threads, 0, stream>>>(counts, bins, sums);
  check_launch("sum_tiles");
  add_up<<<1, threads, 0, stream>>>(sums, tiles, nullptr);
  check_launch("add_up");
  add_up<<<tiles, threads, 0, stream>>>(counts, bins, sums);
  check_launch("add_up");
}

template <class Key>
void count_keys(const DeviceBlock<Key, NoValue>& block, cudaStream_t stream) {
  require(block.n < index_t{1} << 32, ExitCode::usage,
          "kernel cuda_counting sorts fewer than 2^32 keys; use cuda_radix");
  const Range range = range_of(block, stream);
  require(range.max - range.min <= counting_range, ExitCode::usage,
          "range of the keys is too wide for cuda_counting: one counter per value; use cuda_radix");
  const index_t bins = static_cast<index_t>(range.max - range.min) + 1;
  const machine::cuda::DeviceBuffer<unsigned> counts(bins), sums(ceil_div(bins, scan_tile));
  machine::cuda::check(
      cudaMemsetAsync(counts.data(), 0, static_cast<std::size_t>(bins) * sizeof(unsigned), stream),
      "cudaMemsetAsync");
  const Counting<Key> counting{block.keys, block.n,      block.map, static_cast<Key>(range.min),
                               bins,       counts.data()};
  count(counting, stream);
  sum_counts(counts.data(), bins, sums.data(), stream);
  fill_runs<<<narrow<unsigned>(ceil_div(block.n, threads * 16)), threads, 0, stream>>>(counting);
  check_launch("fill_runs");
  machine::cuda::check(cudaStreamSynchronize(stream),
                       "cudaStreamSynchronize");  // before the counters are freed
}

}  // namespace

template <class Key, class Value>
void cuda_counting(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  if (block.n == 0) return;
  if constexpr (has_values<Value>)
    cuda_radix(block, stream);
  else
    count_keys(block, stream);
}

template <class Key, class Value>
index_t cuda_counting_bytes(index_t n) {
  if constexpr (has_values<Value>)
    return cuda_radix_bytes<Key, Value>(n);
  else
    return static_cast<index_t>(sizeof(Range));
}

TESSERA_SORT_INSTANTIATE_DEVICE(cuda_counting);

void add_counting_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function, index_t shared_bytes = 0) {
    to.push_back(machine::device_function("cuda_counting", of, function, threads, shared_bytes));
  };
  const auto of_keys = [&]<class Key>(const std::string& of, Type<Key>) {
    add(of + ", range", find_range<Key>);
    add(of + ", histograms in shared memory", count_in_shared<Key>,
        local_bins * static_cast<index_t>(sizeof(unsigned)));
    add(of + ", histogram in global memory", count_in_global<Key>);
    add(of + ", output", fill_runs<Key>);
  };
  of_keys("keys of 4 bytes", Type<std::uint32_t>{});
  of_keys("keys of 8 bytes", Type<std::uint64_t>{});
  add("scan of counters, tiles", sum_tiles);
  add("scan of counters, sums of tiles", add_up);
}

}  // namespace tessera::inline v1::sort
