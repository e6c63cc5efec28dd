// Device kernels of the distributed sort: histograms of key digits, and the partition of keys by
// splitters, each in one sweep over memory.

#include <algorithm>

#include "kernels/cuda_code.hpp"
#include "kernels/sort/cuda_argsort.hpp"
#include "kernels/sort/cuda_device.cuh"
#include "kernels/sort/resident.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int each =
    16;  // keys per thread at once: enough loads in flight to saturate memory bandwidth
constexpr int tile = threads * each;

/// Loads a thread's keys of a tile, `threads` apart; elements of `key` beyond the end are
/// unchanged.
template <class B>
__device__ __forceinline__ void load_tile(const B* keys, index_t n, index_t first, B (&key)[each]) {
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const index_t i = first + k * threads + threadIdx.x;
    if (i < n) key[k] = keys[i];
  }
}

/// Returns the bin of a key in the counts of all prefixes; -1 if it has none of them.
template <bool first, class B>
__device__ __forceinline__ int bin_of(const Prefixes<B>& prefixes, B bits) {
  const auto digit = static_cast<int>(digit_of(bits, first ? 0 : prefixes.known));
  if constexpr (first) return digit;  // no bits are known: there is a single, empty prefix
  const B prefix = prefix_of(bits, prefixes.known);
  int bin = -1;
#pragma unroll 1
  for (int p = 0; p < prefixes.count; ++p)
    bin = prefixes.bits[p] == prefix ? p * static_cast<int>(digit_values) + digit : bin;
  return bin;
}

/// Counts digits in shared memory and combines a thread's successive equal ones, because few
/// distinct values would serialise the atomics.
template <bool first, class B>
__global__ void __launch_bounds__(threads)
    count_digits(const B* keys, index_t n, KeyMap<B> map, Prefixes<B> prefixes,
                 std::uint64_t* counts) {
  extern __shared__ unsigned count[];  // (prefix, digit)
  const int bins = prefixes.count * static_cast<int>(digit_values);
  for (int i = static_cast<int>(threadIdx.x); i < bins; i += threads) count[i] = 0;
  __syncthreads();
  int last = -1;
  unsigned run = 0;
  for (index_t begin = static_cast<index_t>(blockIdx.x) * tile; begin < n;
       begin += static_cast<index_t>(gridDim.x) * tile) {
    B key[each];
    load_tile(keys, n, begin, key);
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const bool held = begin + k * threads + threadIdx.x < n;
      const int bin = held ? bin_of<first>(prefixes, map.to_bits(key[k])) : -1;
      if (bin != last) {
        if (last >= 0) atomicAdd(&count[last], run);
        last = bin;
        run = 0;
      }
      ++run;
    }
  }
  if (last >= 0) atomicAdd(&count[last], run);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < bins; i += threads) {
    if (count[i] > 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&counts[i]),
                static_cast<unsigned long long>(count[i]));
  }
}

/// Checks the order of keys; blocks stop at the first descent found by any of them.
template <class B>
__global__ void __launch_bounds__(threads)
    look_for_descent(const B* keys, index_t n, KeyMap<B> map, std::uint64_t* descends) {
  const volatile std::uint64_t* const found = descends;
  bool in_order = true;
  for (index_t begin = static_cast<index_t>(blockIdx.x) * tile; begin < n;
       begin += static_cast<index_t>(gridDim.x) * tile) {
    if (__syncthreads_or(!in_order || *found != 0 ? 1 : 0) != 0) break;
    B key[each];
    load_tile(keys, n, begin, key);
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const index_t next = begin + k * threads + threadIdx.x + 1;
      if (next < n) in_order &= map.to_bits(key[k]) <= map.to_bits(__ldg(keys + next));
    }
  }
  if (!in_order) atomicExch(reinterpret_cast<unsigned long long*>(descends), 1ULL);
}

/// Shared memory of a block that partitions a tile.
template <class B>
struct Shared {
  B key[tile];                            ///< grouped by part
  unsigned in_warp[warps][most_parts];    ///< keys of a part in a warp; then the position of its
                                          ///< first one in key
  unsigned begin[most_parts + 1];         ///< start of each part in key
  unsigned long long target[most_parts];  ///< position of its first key in the part
  unsigned tied[most_bounds];
  unsigned long long first_tie[most_bounds];
};

/// Determines the part of each key of this thread. Keys equal to a bound, which are few, are
/// numbered and divided by their number.
template <class B>
__device__ __forceinline__ void find_parts(const B (&key)[each], int held, const KeyMap<B>& map,
                                           const Bounds<B>& bounds, const Parts<B>& parts,
                                           Shared<B>& shared, int (&part)[each]) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < bounds.count) shared.tied[thread] = 0;
  bool on_bound = false;
#pragma unroll
  for (int k = 0; k < each; ++k) part[k] = 0;
#pragma unroll 1
  for (int s = 0; s < bounds.count; ++s) {
    const B at = bounds.at[s];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const B bits = map.to_bits(key[k]);
      part[k] += bits > at ? 1 : 0;
      on_bound |= k < held && bits == at;
    }
  }
  if (__syncthreads_or(on_bound ? 1 : 0) == 0) return;
  unsigned number[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    if (k >= held) continue;
    const int tie = tie_of(bounds, map.to_bits(key[k]));
    if (tie >= 0) number[k] = atomicAdd(&shared.tied[tie], 1u);
  }
  __syncthreads();
  if (thread < bounds.count && shared.tied[thread] > 0) {
    shared.first_tie[thread] =
        atomicAdd(reinterpret_cast<unsigned long long*>(&parts.cursors[bounds.count + 1 + thread]),
                  static_cast<unsigned long long>(shared.tied[thread]));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k) {
    if (k >= held) continue;
    const B bits = map.to_bits(key[k]);
    const int tie = tie_of(bounds, bits);
    if (tie >= 0) part[k] = part_of(bounds, bits, shared.first_tie[tie] + number[k]);
  }
}

/// Computes the rank of each key of this thread among those of its warp and part.
__device__ __forceinline__ void rank_in_warp(const int (&part)[each], int held,
                                             unsigned (&in_warp)[most_parts],
                                             unsigned (&place)[each]) {
  if (lane_id() < most_parts) in_warp[lane_id()] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int mine = k < held ? part[k] : most_parts;  // absent keys have a separate part
    const unsigned same = __match_any_sync(all_lanes, mine);
    if (k < held) place[k] = in_warp[mine] + __popc(same & lanes_below());
    __syncwarp();
    if (k < held && (same & lanes_below()) == 0) in_warp[mine] += __popc(same);
    __syncwarp();
  }
}

/// Reserves space in every part for the block's keys, with one thread per part, and computes the
/// position of each warp's keys in shared.key.
template <class B>
__device__ __forceinline__ void reserve(int count, const Parts<B>& parts, Shared<B>& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < 32) {
    unsigned sum = 0;
    if (thread < count) {
      for (int w = 0; w < warps; ++w) {
        const unsigned keys = shared.in_warp[w][thread];
        shared.in_warp[w][thread] = sum;
        sum += keys;
      }
    }
    const unsigned end = warp_prefix_sum(sum), begin = end - sum;
    if (thread < count) {
      for (int w = 0; w < warps; ++w) shared.in_warp[w][thread] += begin;
      shared.begin[thread] = begin;
      if (thread + 1 == count) shared.begin[count] = end;
      if (sum > 0)
        shared.target[thread] =
            atomicAdd(reinterpret_cast<unsigned long long*>(&parts.cursors[thread]),
                      static_cast<unsigned long long>(sum));
    }
  }
}

/// Partitions keys, one block per tile. Runs are written in whole lines at any alignment, because
/// they may go to another device.
template <class B>
__global__ void __launch_bounds__(threads)
    take_to_parts(const B* keys, index_t n, KeyMap<B> map, Bounds<B> bounds, Parts<B> parts) {
  __shared__ Shared<B> shared;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const index_t first = static_cast<index_t>(blockIdx.x) * tile;
  B key[each] = {};
  load_tile(keys, n, first, key);
  const index_t left = n - first - thread;  // keys from this thread's first one on
  const int held = left <= 0      ? 0
                   : left >= tile ? each
                                  : static_cast<int>((left + threads - 1) / threads);
  int part[each];
  unsigned place[each];
  find_parts(key, held, map, bounds, parts, shared, part);
  rank_in_warp(part, held, shared.in_warp[warp], place);
  __syncthreads();
  const int count = bounds.count + 1;
  reserve(count, parts, shared);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) shared.key[shared.in_warp[warp][part[k]] + place[k]] = key[k];
  __syncthreads();
  constexpr int line = 128 / static_cast<int>(sizeof(B));
  for (int p = 0; p < count; ++p) {
    const int begin = static_cast<int>(shared.begin[p]),
              size = static_cast<int>(shared.begin[p + 1]) - begin;
    if (size == 0) continue;
    B* const to = parts.data[p] + shared.target[p];
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(B) % line);
    for (int i = thread - shift; i < size; i += threads)
      if (i >= 0) to[i] = shared.key[begin + i];
  }
}

constexpr index_t bytes_a_prefix = digit_values * index_t{sizeof(unsigned)};

/// Counts the digits of prefixes whose counts fit the shared memory of a block.
template <class B>
void count_at_once(const B* keys, index_t n, const KeyMap<B>& map, const Prefixes<B>& prefixes,
                   std::uint64_t* counts, DeviceStream stream) {
  const int bytes = prefixes.count * static_cast<int>(bytes_a_prefix);
  const auto kernel = prefixes.known == 0 ? count_digits<true, B> : count_digits<false, B>;
  allow_shared(kernel, bytes);
  const unsigned blocks = resident_blocks(kernel, threads, bytes, ceil_div(n, tile));
  kernel<<<blocks, threads, static_cast<std::size_t>(bytes), stream>>>(keys, n, map, prefixes,
                                                                       counts);
  check_launch("count_digits");
}

template <class B>
void count(const B* keys, index_t n, const KeyMap<B>& map, const Prefixes<B>& prefixes,
           std::uint64_t* counts, DeviceStream stream) {
  if (n == 0) return;
  const int at_once = narrow<int>(kernels::shared_bytes_per_block() / bytes_a_prefix);
  for (int first = 0; first < prefixes.count; first += at_once) {
    Prefixes<B> some{std::min(at_once, prefixes.count - first), prefixes.known};
    std::copy_n(prefixes.bits + first, some.count, some.bits);
    count_at_once(keys, n, map, some, counts + first * digit_values, stream);
  }
}

template <class B>
void find_descent(const B* keys, index_t n, const KeyMap<B>& map, std::uint64_t* descends,
                  DeviceStream stream) {
  if (n == 0) return;
  const unsigned blocks = resident_blocks(look_for_descent<B>, threads, 0, ceil_div(n, tile));
  look_for_descent<B><<<blocks, threads, 0, stream>>>(keys, n, map, descends);
  check_launch("look_for_descent");
}

template <class B>
void partition(const B* keys, index_t n, const KeyMap<B>& map, const Bounds<B>& bounds,
               const Parts<B>& parts, DeviceStream stream) {
  if (n == 0) return;
  take_to_parts<B>
      <<<narrow<unsigned>(ceil_div(n, tile)), threads, 0, stream>>>(keys, n, map, bounds, parts);
  check_launch("take_to_parts");
}

template <class B>
void sort_part(B* keys, B* spare, index_t n, const KeyMap<B>& map, std::byte* work,
               DeviceStream stream) {
  if (n == 0) return;
  cuda_hybrid<B, NoValue>({.keys = keys, .spare_keys = spare, .n = n, .map = map, .work = work},
                          stream);
}

}  // namespace

template <class B>
const ResidentKernels<B>* compiled_kernels() {
  static const ResidentKernels<B> kernels{count<B>,
                                          find_descent<B>,
                                          partition<B>,
                                          sort_part<B>,
                                          cuda_hybrid_bytes<B, NoValue>,
                                          cuda_argsort<B>,
                                          cuda_argsort_bytes<B>,
                                          sizeof(B) == 8 ? bucket_kernels() : nullptr};
  return &kernels;
}
template const ResidentKernels<std::uint32_t>* compiled_kernels();
template const ResidentKernels<std::uint64_t>* compiled_kernels();

}  // namespace tessera::inline v1::sort
