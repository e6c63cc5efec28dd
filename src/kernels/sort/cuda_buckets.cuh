#pragma once
// Division of 64-bit keys by their leading bits, in two unstable sweeps (buckets.hpp). Decisions
// are made on the device, or by the host for several devices: every kernel reads from the plan
// whether it has work.

#include "kernels/cuda_code.cuh"
#include "kernels/sort/buckets.hpp"
#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort::buckets {

inline constexpr int threads = 768,
                     each = 10;  // two blocks per multiprocessor, 42 registers per thread
inline constexpr int tile = threads * each;
static_assert(most_buckets == threads);  // one thread each

/// Returns the exclusive scan of x over the block's threads; at most 1024 threads, in whole warps.
/// Synchronises once: the warps' sums may still be read afterwards.
template <class T>
__device__ __forceinline__ T sum_before(T x, T* warp_sums) {
  const T inclusive = warp_prefix_sum(x);
  const unsigned warp = threadIdx.x / 32;
  if (lane_id() == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  T before = lane_id() < warp ? warp_sums[lane_id()] : 0;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) before += __shfl_xor_sync(all_lanes, before, step);
  return before + inclusive - x;
}

inline constexpr int sample_threads = 1024, sampled = 16;  // keys per thread

/// Samples keys, one line in many places: determines their common leading bits and whether the next
/// bits distribute them well.
__global__ void __launch_bounds__(sample_threads)
    look_at_some(const U64* keys, index_t n, KeyMap<std::uint64_t> map, Plan* plan) {
  __shared__ U64 differ;
  __shared__ unsigned count[fine_bins];
  if (threadIdx.x == 0) differ = 0;
  for (int i = threadIdx.x; i < fine_bins; i += sample_threads) count[i] = 0;
  __syncthreads();
  const U64 first = map.to_bits(keys[0]);
  U64 some[sampled], mine = 0;
#pragma unroll
  for (int k = 0; k < sampled; ++k) {
    some[k] = map.to_bits(keys[n / sample_threads * threadIdx.x + k]);
    mine |= some[k] ^ first;
  }
  atomicOr(&differ, mine);
  __syncthreads();
  const int known = differ == 0 ? 64 : __clzll(static_cast<long long>(differ));
  const bool varies = 64 - known >= least_varying_bits;
  bool spread = varies;
  if (varies) {
    constexpr unsigned most = 8 * sampled * sample_threads / fine_bins;
#pragma unroll
    for (int k = 0; k < sampled; ++k)
      spread &= atomicAdd(&count[fine_bin(some[k], known)], 1U) < most;
  }
  const bool all_spread = __syncthreads_and(spread ? 1 : 0) != 0;
  if (threadIdx.x != 0) return;
  plan->known = known;
  plan->prefix = varies && known > 0 ? first >> (64 - known) : 0;
  plan->going = all_spread ? 1 : 0;
}

inline constexpr int count_each = 8;

/// Counts keys by their fine bins and checks whether they are in order.
__global__ void __launch_bounds__(threads)
    count_fine(const U64* keys, index_t n, KeyMap<std::uint64_t> map, Plan* plan) {
  __shared__ unsigned count[fine_bins + 1];
  if (plan->going == 0) return;
  for (int i = threadIdx.x; i <= fine_bins; i += threads) count[i] = 0;
  __syncthreads();
  const int known = plan->known;
  const U64 prefix = plan->prefix;
  const bool mapped = !map.identity();
  const auto bits_of = [&](U64 key) -> U64 { return mapped ? map.to_bits(key) : key; };
  bool in_order = true;  // for the keys this thread has checked; it stops at the first descent
  constexpr index_t stretch = threads * count_each;
  for (index_t begin = blockIdx.x * stretch; begin < n; begin += gridDim.x * stretch) {
    const U64* const from = keys + begin + threadIdx.x;
    const index_t left = n - begin - threadIdx.x;
    U64 key[count_each];
#pragma unroll
    for (int u = 0; u < count_each; ++u)
      if (u * threads < left) key[u] = __ldcs(from + u * threads);
#pragma unroll
    for (int u = 0; u < count_each; ++u) {
      if (u * threads >= left) break;
      const U64 bits = bits_of(key[u]);
      if (in_order && u * threads + 1 < left)
        in_order = bits <= bits_of(__ldg(from + u * threads + 1));
      const bool known_begins = known == 0 || bits >> (64 - known) == prefix;
      atomicAdd(&count[known_begins ? fine_bin(bits, known) : fine_bins], 1U);
    }
  }
  if (__syncthreads_or(in_order ? 0 : 1) != 0 && threadIdx.x == 0) atomicExch(&plan->descends, 1U);
  for (int i = threadIdx.x; i <= fine_bins; i += threads)
    if (count[i] != 0) atomicAdd(&plan->fine[i], static_cast<U64>(count[i]));
}

inline constexpr int plan_threads = fine_bins / 2;

/// Merges adjacent fine bins into buckets of nearly equal size, contiguous in `to`; one block.
__global__ void __launch_bounds__(plan_threads)
    plan_buckets(index_t n, Division into, U64* to, Plan* plan) {
  __shared__ U64 warp_sums[plan_threads / 32];
  __shared__ index_t begin[fine_bins + 1];
  __shared__ int first[most_buckets],
      end[most_buckets];  // the non-empty fine bins of a bucket
  const int t = static_cast<int>(threadIdx.x);
  if (plan->going == 0) return;
  const U64 mine[2] = {plan->fine[2 * t], plan->fine[2 * t + 1]};
  const U64 before = sum_before(mine[0] + mine[1], warp_sums);
  begin[2 * t] = static_cast<index_t>(before);
  begin[2 * t + 1] = static_cast<index_t>(before + mine[0]);
  if (t == 0) begin[fine_bins] = n;
  if (t < most_buckets) {
    first[t] = fine_bins;
    end[t] = 0;
  }
  __syncthreads();
  for (int bin = 2 * t; bin < 2 * t + 2; ++bin) {
    const int here = bucket_at(begin[bin], begin[bin + 1], n, into.buckets);
    plan->bucket_of[bin] = static_cast<std::uint16_t>(here);
    if (mine[bin % 2] == 0) continue;
    atomicMin(&first[here], bin);
    atomicMax(&end[here], bin + 1);
  }
  __syncthreads();
  index_t keys = 0;
  if (t < into.buckets && first[t] < end[t]) {
    keys = begin[end[t]] - begin[first[t]];
    plan->bucket[t] = make_bucket(*plan, first[t], end[t], begin[first[t]], keys, into.subs);
    plan->cursor[t] = reinterpret_cast<U64>(to + begin[first[t]]);
  }
  __shared__ U64 warp_tiles[plan_threads / 32];
  const U64 tiles = static_cast<U64>((keys + tile - 1) / tile);
  const U64 tiles_before = sum_before(tiles, warp_tiles);
  if (t <= into.buckets) plan->first_tile[t] = static_cast<unsigned>(tiles_before);
  const bool falls_short =
      __syncthreads_or(uneven(keys, n, into.buckets) ? 1 : 0) != 0 || plan->fine[fine_bins] != 0;
  if (t != 0) return;
  if (plan->descends == 0 && plan->fine[fine_bins] == 0) plan->done = 1;
  if (falls_short || plan->done != 0) plan->going = 0;
}

/// Shared memory of a block that divides a tile.
struct TileMemory {
  U64 key[tile];  ///< grouped by bin
  unsigned count[most_buckets], start[most_buckets];
  U64* target[most_buckets];  ///< of a bin's keys, minus their start in the tile
  unsigned warp_sums[threads / 32];
};

/// A number below 2^16 for each of a thread's keys, packed two per register.
template <int each>
class Numbers {
 public:
  __device__ __forceinline__ void set(int k, unsigned x) {
    two_[k / 2] = k % 2 == 0 ? x : two_[k / 2] | x << 16;
  }
  __device__ __forceinline__ unsigned operator[](int k) const {
    return k % 2 == 0 ? two_[k / 2] & 0xffff : two_[k / 2] >> 16;
  }

 private:
  unsigned two_[(each + 1) / 2];
};

/// Moves this thread's `held` keys to the addresses given by the cursors of their bins.
template <class BinOf>
__device__ __forceinline__ void divide(const U64 (&bits)[each], int held, int valid, int bins,
                                       BinOf bin_of, U64* cursors, TileMemory& memory) {
  const int t = static_cast<int>(threadIdx.x);
  if (t < most_buckets) memory.count[t] = 0;
  __syncthreads();
  Numbers<each> number;
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) number.set(k, atomicAdd(&memory.count[bin_of(bits[k])], 1U));
  __syncthreads();
  const unsigned mine = t < bins ? memory.count[t] : 0;
  const U64 place = mine > 0 ? atomicAdd(cursors + t, mine * U64{sizeof(U64)}) : 0;
  const unsigned start = sum_before(mine, memory.warp_sums);
  if (t < most_buckets) {
    memory.start[t] = start;
    memory.target[t] = reinterpret_cast<U64*>(place) - start;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) memory.key[memory.start[bin_of(bits[k])] + number[k]] = bits[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int i = k * threads + t;
    if (i >= valid) break;
    const U64 key = memory.key[i];
    memory.target[bin_of(key)][i] = key;
  }
}

/// Returns how many of `valid` keys a thread holds, at most `each`, in a block of `threads`
/// threads.
template <int threads, int each>
__device__ __forceinline__ int held_of(int valid) {
  const int left = valid - static_cast<int>(threadIdx.x);
  return left <= 0 ? 0 : min(each, (left + threads - 1) / threads);
}

/// Moves the keys' bits to their buckets, by the plan's cursors. One block per tile.
__global__ void __launch_bounds__(threads, kernels::at_most_resident(threads, 2))
    take_to_buckets(const U64* keys, index_t n, KeyMap<std::uint64_t> map, int buckets,
                    Plan* plan) {
  extern __shared__ __align__(16) unsigned char buckets_memory[];
  auto& memory = *reinterpret_cast<TileMemory*>(buckets_memory);
  __shared__ std::uint16_t bucket_of[fine_bins];
  if (plan->going == 0) return;
  for (int i = threadIdx.x; i < fine_bins; i += threads) bucket_of[i] = plan->bucket_of[i];
  const index_t begin = static_cast<index_t>(blockIdx.x) * tile;
  const int valid = static_cast<int>(min(n - begin, index_t{tile})),
            held = held_of<threads, each>(valid);
  U64 bits[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) bits[k] = __ldcs(keys + begin + k * threads + threadIdx.x);
  if (!map.identity()) {
#pragma unroll
    for (int k = 0; k < each; ++k)
      if (k < held) bits[k] = map.to_bits(bits[k]);
  }
  const int known = plan->known;
  divide(
      bits, held, valid, buckets, [&](U64 key) { return bucket_of[fine_bin(key, known)]; },
      plan->cursor, memory);
}

/// A tile of one bucket.
struct Part {
  int bucket;
  index_t begin;
  int valid;
};

/// Returns the block's tile; valid is 0 beyond the last one.
__device__ __forceinline__ Part part_of_block(const Plan& plan, int buckets) {
  int low = 0, high = buckets;  // first_tile[low] <= block < first_tile[high], if it has a tile
  if (blockIdx.x >= plan.first_tile[buckets]) return {0, 0, 0};
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (plan.first_tile[middle] <= blockIdx.x ? low : high) = middle;
  }
  const index_t at = static_cast<index_t>(blockIdx.x - plan.first_tile[low]) * tile;
  const Bucket& bucket = plan.bucket[low];
  return {low, bucket.begin + at, static_cast<int>(min(bucket.n - at, index_t{tile}))};
}

/// Computes the histogram counts[bucket, sub-bucket] of keys grouped by bucket.
__global__ void __launch_bounds__(threads)
    count_subs(const U64* keys, Division into, const Plan* plan, unsigned* counts) {
  __shared__ unsigned count[most_buckets];
  if (plan->going == 0) return;
  const Part part = part_of_block(*plan, into.buckets);
  if (part.valid == 0) return;
  const int t = static_cast<int>(threadIdx.x), held = held_of<threads, each>(part.valid);
  if (t < most_buckets) count[t] = 0;
  __syncthreads();
  const Bucket bucket = plan->bucket[part.bucket];
  U64 bits[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) bits[k] = __ldg(keys + part.begin + k * threads + t);
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) atomicAdd(&count[place_in(bucket, bits[k]) >> 32], 1U);
  __syncthreads();
  if (t < into.subs && count[t] > 0) atomicAdd(counts + part.bucket * into.subs + t, count[t]);
}

/// Sets cursors to the start of each sub-bucket in `to`, by an exclusive scan. One block per
/// bucket.
__global__ void __launch_bounds__(threads)
    place_subs(const unsigned* counts, Division into, index_t most, U64* to, Plan* plan,
               U64* cursors) {
  __shared__ unsigned warp_sums[threads / 32];
  if (plan->going == 0) return;
  const int t = static_cast<int>(threadIdx.x), sub = static_cast<int>(blockIdx.x) * into.subs + t;
  const unsigned mine = t < into.subs ? counts[sub] : 0;
  const unsigned before = sum_before(mine, warp_sums);
  if (t < into.subs)
    cursors[sub] = reinterpret_cast<U64>(to + plan->bucket[blockIdx.x].begin + before);
  if (mine > most) plan->overflows = 1;
}

/// Moves keys grouped by bucket to their sub-buckets; afterwards the cursors are at the ends of
/// these.
__global__ void __launch_bounds__(threads, kernels::at_most_resident(threads, 2))
    take_to_subs(const U64* keys, Division into, const Plan* plan, U64* cursors) {
  extern __shared__ __align__(16) unsigned char subs_memory[];
  auto& memory = *reinterpret_cast<TileMemory*>(subs_memory);
  if (plan->going == 0 || plan->overflows != 0) return;
  const Part part = part_of_block(*plan, into.buckets);
  if (part.valid == 0) return;
  const int held = held_of<threads, each>(part.valid);
  U64 bits[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) bits[k] = __ldcs(keys + part.begin + k * threads + threadIdx.x);
  const Bucket bucket = plan->bucket[part.bucket];
  divide(
      bits, held, part.valid, into.subs,
      [&](U64 key) { return static_cast<unsigned>(place_in(bucket, key) >> 32); },
      cursors + part.bucket * into.subs, memory);
}

}  // namespace tessera::inline v1::sort::buckets
