#pragma once
// LSD radix sort on the device (onesweep, Adinets and Merrill 2022): one read of the keys for the
// histograms of all digits, which also checks whether they are in order; a plan made from that on
// the device; one sweep per digit.

#include "kernels/sort/cuda_radix_sweep.cuh"

namespace tessera::inline v1::sort::onesweep {

inline constexpr int histogram_threads = 512, histogram_items = 8, finish_threads = 512;

/// Computes counts[pass][digit] += keys with that digit; sets *descends to 1 if a key is less than
/// the previous one. If the keys have been sorted elsewhere (done, if given), all is 0, and no pass
/// will run.
template <class Key>
__global__ void __launch_bounds__(histogram_threads)
    count_digits(const Key* keys, index_t n, KeyMap<Key> map, unsigned long long* counts,
                 unsigned* descends, const unsigned* done) {
  if (done != nullptr && *done != 0) return;
  __shared__ unsigned digits[passes<Key> * bins];  // (pass, digit)
  for (int i = threadIdx.x; i < passes<Key> * bins; i += histogram_threads) digits[i] = 0;
  __syncthreads();
  constexpr index_t tile = histogram_threads * histogram_items;
  const bool mapped = !map.identity();
  const auto bits_of = [&](Key key) { return mapped ? map.to_bits(key) : key; };
  bool in_order = true;  // for the keys this thread has checked; it stops at the first descent
  for (index_t begin = blockIdx.x * tile; begin < n; begin += gridDim.x * tile) {
    const Key* const from = keys + begin + threadIdx.x;
    const index_t left = n - begin - threadIdx.x;
    Key tile_keys[histogram_items];
#pragma unroll
    for (int u = 0; u < histogram_items; ++u) {
      if (u * histogram_threads < left) tile_keys[u] = __ldcs(from + u * histogram_threads);
    }
#pragma unroll
    for (int u = 0; u < histogram_items; ++u) {
      if (u * histogram_threads >= left) break;
      const Key bits = bits_of(tile_keys[u]);
      if (in_order && u * histogram_threads + 1 < left)
        in_order = bits <= bits_of(__ldg(from + u * histogram_threads + 1));
#pragma unroll
      for (int p = 0; p < passes<Key>; ++p)
        atomicAdd(digits + p * bins + digit_of(bits, p * digit_bits), 1U);
    }
  }
  if (__syncthreads_or(in_order ? 0 : 1) != 0 && threadIdx.x == 0) atomicExch(descends, 1U);
  for (int i = threadIdx.x; i < passes<Key> * bins; i += histogram_threads) {
    if (digits[i] != 0) atomicAdd(counts + i, static_cast<unsigned long long>(digits[i]));
  }
}

/// Computes base[pass * pass_stride + digit] = keys with smaller digits, and which passes to run:
/// none for keys that never descend. A block of `bins` threads.
template <int count>
__global__ void __launch_bounds__(bins)
    plan_passes(const unsigned long long* counts, const unsigned* descends, index_t n,
                index_t pass_stride, index_t* base, Plan* plan) {
  __shared__ unsigned long long warp_sums[bins / 32];
  __shared__ int skipped[count];
  for (int p = 0; p < count; ++p) {
    const unsigned long long mine = counts[p * bins + threadIdx.x];
    const int all = __syncthreads_or(mine == static_cast<unsigned long long>(n) ? 1 : 0);
    if (threadIdx.x == 0) skipped[p] = all != 0 || *descends == 0 ? 1 : 0;
    const unsigned long long inclusive = warp_prefix_sum(mine);
    if (lane_id() == 31) warp_sums[threadIdx.x / 32] = inclusive;
    __syncthreads();
    unsigned long long before = inclusive - mine;
    for (unsigned w = 0; w < threadIdx.x / 32; ++w) before += warp_sums[w];
    base[p * pass_stride + threadIdx.x] = static_cast<index_t>(before);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  int swept = 0, last = -1;
  for (int p = 0; p < count; ++p) {
    plan->pass[p] = {skipped[p], swept % 2, swept == 0 ? 1 : 0, 0};
    if (skipped[p] != 0) continue;
    ++swept;
    last = p;
  }
  if (last >= 0) plan->pass[last].last = 1;
  plan->swept = swept;
}

/// Copies items back from the spare arrays after an odd number of sweeps; writes positions if there
/// was none.
template <class Key, class Value>
__global__ void finish(DeviceBlock<Key, Value> block, const Plan* plan) {
  const bool from_spare = plan->swept % 2 == 1;
  const bool positions = plan->swept == 0 && block.payload == Payload::positions;
  if (!from_spare && !positions) return;
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < block.n;
       i += step) {
    if (from_spare) block.keys[i] = block.spare_keys[i];
    if constexpr (has_values<Value>) {
      if (from_spare) block.values[i] = block.spare_values[i];
      if (positions) block.values[i] = static_cast<Value>(i);
    }
  }
}

/// Work memory of a sort of n keys.
template <class Key, class S>
struct Work {
  index_t portions, status_words, bytes, cleared_bytes;
  unsigned long long* counts;  ///< (passes, bins); cleared together with the next two
  unsigned* descends;          ///< (1)
  unsigned* tiles_drawn;       ///< (passes, portions)
  index_t* base;               ///< (passes, portions + 1, bins)
  Plan* plan;
  unsigned* status;  ///< (tiles of a portion, bins)

  Work(index_t n, std::byte* memory) : portions(ceil_div(n, portion)) {
    status_words = ceil_div(n < portion ? n : portion, index_t{S::tile}) * bins;
    WorkSpace space(memory);
    counts = space.template take<unsigned long long>(passes<Key> * bins);
    descends = space.template take<unsigned>(1);
    tiles_drawn = space.template take<unsigned>(passes<Key> * portions);
    cleared_bytes = space.bytes();
    base = space.template take<index_t>(passes<Key> * (portions + 1) * bins);
    plan = space.template take<Plan>(1);
    status = space.template take<unsigned>(status_words);
    bytes = space.bytes();
  }
};

inline void clear(void* memory, index_t bytes, cudaStream_t stream) {
  machine::cuda::check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream),
                       "cudaMemsetAsync");
}

template <class Key, class S, class Value>
void plan_sweeps(const DeviceBlock<Key, Value>& block, const Work<Key, S>& work,
                 const unsigned* done, cudaStream_t stream) {
  clear(work.counts, work.cleared_bytes, stream);
  const unsigned blocks = resident_blocks(count_digits<Key>, histogram_threads, 0,
                                          ceil_div(block.n, histogram_threads * histogram_items));
  count_digits<<<blocks, histogram_threads, 0, stream>>>(block.keys, block.n, block.map,
                                                         work.counts, work.descends, done);
  check_launch("count_digits");
  plan_passes<passes<Key>><<<1, bins, 0, stream>>>(
      work.counts, work.descends, block.n, (work.portions + 1) * bins, work.base, work.plan);
  check_launch("plan_passes");
}

/// Sorts the block; done: as for cuda_radix_unless.
template <class S, class Key, class Value>
void sort(const DeviceBlock<Key, Value>& block, cudaStream_t stream,
          const unsigned* done = nullptr) {
  if (block.n == 0) return;
  const Work<Key, S> work(block.n, block.work);
  plan_sweeps(block, work, done, stream);
  const auto kernel = sweep_digit<Key, Value, S>;
  constexpr int shared = static_cast<int>(sizeof(TileMemory<Key, Value, S>));
  allow_shared(kernel, shared);
  const unsigned resident =
      resident_blocks(kernel, S::threads, shared, ceil_div(block.n, static_cast<index_t>(S::tile)));
  unsigned launches = 0;
  for (int p = 0; p < passes<Key>; ++p) {
    for (index_t q = 0; q < work.portions; ++q, ++launches) {
      const unsigned code = 2 * (launches % sweeps_a_clearing);
      if (code == 0)
        clear(work.status, work.status_words * static_cast<index_t>(sizeof(unsigned)), stream);
      const index_t begin = q * portion, n = block.n - begin < portion ? block.n - begin : portion;
      index_t* const base = work.base + (p * (work.portions + 1) + q) * bins;
      kernel<<<resident, S::threads, shared, stream>>>({block,
                                                        begin,
                                                        static_cast<unsigned>(n),
                                                        p * digit_bits,
                                                        work.plan->pass + p,
                                                        base,
                                                        base + bins,
                                                        work.tiles_drawn + p * work.portions + q,
                                                        work.status,
                                                        {code + 1, code + 2}});
      check_launch("sweep_digit");
    }
  }
  finish<<<multiprocessors() * 4, finish_threads, 0, stream>>>(block, work.plan);
  check_launch("finish");
}

template <class S, class Key, class Value>
index_t bytes(index_t n) {
  return Work<Key, S>(n, nullptr).bytes;
}

}  // namespace tessera::inline v1::sort::onesweep
