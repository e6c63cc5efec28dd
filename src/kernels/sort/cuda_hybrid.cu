// MSD sort of 64-bit keys: two divisions (cuda_buckets.cuh) into parts that a block sorts in shared
// memory. Reads and writes each key three times and reads it twice more to count: 64 bytes of
// memory traffic, against 136 for eight digits. Keys that are not distributed evenly enough, too
// few, too many, of another type or with values are sorted by cuda_radix.

#include <algorithm>
#include <string>

#include "kernels/cuda_code.hpp"
#include "kernels/sort/cuda_buckets.cuh"

namespace tessera::inline v1::sort {
namespace {

using buckets::Bucket;
using buckets::Division;
using buckets::Plan;
using buckets::U64;

constexpr int threads = 1024, each = 6;  // 32 registers per thread: two blocks fill a
                                         // multiprocessor
constexpr int most_keys = threads * each, bin_bits = 12, bins = 1 << bin_bits;
constexpr int bins_each = bins / threads;
constexpr int short_bin = 24;  // sorted by one thread

constexpr index_t least_n = index_t{1} << 24;
constexpr index_t most_n =
    buckets::usual_keys * buckets::most_buckets * buckets::most_buckets * 9 / 8;

struct SubMemory {
  U64 key[most_keys];
  unsigned bin[bins + 4];  ///< counts, then starts
  unsigned warp_sums[threads / 32];
};

/// Turns the bins' counts into their starts (exclusive scan).
__device__ __forceinline__ void add_up_bins(SubMemory& memory) {
  auto* const four = reinterpret_cast<uint4*>(memory.bin) + threadIdx.x * (bins_each / 4);
  uint4 counts[bins_each / 4];
  unsigned sum = 0;
#pragma unroll
  for (int j = 0; j < bins_each / 4; ++j) {
    const uint4 c = four[j];
    counts[j] = {sum, sum + c.x, sum + c.x + c.y, sum + c.x + c.y + c.z};
    sum = counts[j].w + c.w;
  }
  const unsigned before = buckets::sum_before(sum, memory.warp_sums);
#pragma unroll
  for (int j = 0; j < bins_each / 4; ++j)
    four[j] = {counts[j].x + before, counts[j].y + before, counts[j].z + before,
               counts[j].w + before};
  if (threadIdx.x + 1 == threads) memory.bin[bins] = before + sum;
}

/// Sorts key[begin:end] by insertion and returns true if they are few; otherwise returns false.
__device__ __forceinline__ bool sort_bin(U64* key, unsigned begin, unsigned end) {
  if (end - begin > short_bin) return false;
  for (unsigned i = begin + 1; i < end; ++i) {
    const U64 x = key[i];
    unsigned j = i;
    for (; j > begin && key[j - 1] > x; --j) key[j] = key[j - 1];
    key[j] = x;
  }
  return true;
}

/// Returns whether key[0:n] are in order.
__device__ __forceinline__ bool in_order(const U64* key, int n) {
  bool ascending = true;
  for (int i = static_cast<int>(threadIdx.x) + 1; i < n; i += threads)
    ascending &= key[i - 1] <= key[i];
  return __syncthreads_and(ascending ? 1 : 0) != 0;
}

/// Sorts arbitrary key[0:n] by a sorting network (Batcher 1968), as if padded with the greatest key
/// to a power of two: each run is merged with the mirrored next one, so that the lesser key always
/// moves down.
__device__ void sort_all(U64* key, int n) {
  const auto exchange = [&](int low, int high) {
    if (high >= n) return;
    const U64 a = key[low], b = key[high];
    if (a <= b) return;
    key[low] = b;
    key[high] = a;
  };
  int width = 2;
  while (width < n) width *= 2;
  for (int run = 2; run <= width; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int i = threadIdx.x; i < width / 2; i += threads) {
        const int low = 2 * i - (i & (step - 1));
        exchange(low, step == run / 2 ? (low | (run - 1)) - (low & (run - 1)) : low + step);
      }
      __syncthreads();
    }
  }
}

/// Sorts the keys of each sub-bucket from `keys` to `to` at the same position; both may be the same
/// memory. Keys are distributed to bins by the next bits of their position, one key per bin on
/// average, and every bin is sorted. One block per sub-bucket; ends: of the sub-buckets.
__global__ void __launch_bounds__(threads, kernels::at_most_resident(threads, 2))
    sort_subs(const U64* keys, KeyMap<std::uint64_t> map, Division into, Plan* plan,
              const unsigned* counts, const U64* ends, U64* to) {
  extern __shared__ __align__(16) unsigned char sub_memory[];
  auto& memory = *reinterpret_cast<SubMemory*>(sub_memory);
  if (plan->going == 0 || plan->overflows != 0) return;
  const int t = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 && t == 0) plan->done = 1;
  const int n = static_cast<int>(counts[blockIdx.x]);
  if (n == 0) return;
  const U64* const here = reinterpret_cast<const U64*>(ends[blockIdx.x]) - n;
  const Bucket bucket = plan->bucket[blockIdx.x / static_cast<unsigned>(into.subs)];
  const auto bin_of = [&](U64 key) {
    return static_cast<unsigned>(place_in(bucket, key)) >> (32 - bin_bits);
  };
  const int held = buckets::held_of<threads, each>(n);
  U64 bits[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) bits[k] = __ldcs(here + k * threads + t);
  for (int j = 0; j < bins_each; ++j) memory.bin[j * threads + t] = 0;
  __syncthreads();
  buckets::Numbers<each> number;
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) number.set(k, atomicAdd(&memory.bin[bin_of(bits[k])], 1U));
  __syncthreads();
  add_up_bins(memory);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (k < held) memory.key[memory.bin[bin_of(bits[k])] + number[k]] = bits[k];
  __syncthreads();
  bool sorted = true;
  for (int j = 0; j < bins_each; ++j) {
    const int bin = j * threads + t;
    sorted &= sort_bin(memory.key, memory.bin[bin], memory.bin[bin + 1]);
  }
  if (__syncthreads_and(sorted ? 1 : 0) == 0 && !in_order(memory.key, n)) sort_all(memory.key, n);
  U64* const there = to + (here - keys);
  for (int i = t; i < n; i += threads) there[i] = map.to_raw(memory.key[i]);
}

/// Work memory of the second division.
struct SubWork {
  unsigned* counts;  ///< (buckets, subs)
  U64* cursors;      ///< (buckets, subs)
  index_t bytes, cleared_bytes;

  SubWork(const Division& into, std::byte* memory) {
    WorkSpace space(memory);
    counts = space.take<unsigned>(index_t{into.buckets} * into.subs);
    cleared_bytes = space.bytes();
    cursors = space.take<U64>(index_t{into.buckets} * into.subs);
    bytes = space.bytes();
  }
};

/// Work memory of a sort of n keys.
struct Work {
  Plan* plan;
  std::byte* subs;
  index_t bytes;

  Work(const Division& into, std::byte* memory) {
    WorkSpace space(memory);
    plan = space.take<Plan>(1);
    subs = space.take<std::byte>(SubWork(into, nullptr).bytes);
    bytes = space.bytes();
  }
};

const U64* words(const std::uint64_t* keys) { return reinterpret_cast<const U64*>(keys); }
U64* words(std::uint64_t* keys) { return reinterpret_cast<U64*>(keys); }

void clear(void* memory, index_t bytes, DeviceStream stream) {
  machine::cuda::check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream),
                       "cudaMemsetAsync");
}

void look(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, Plan* plan,
          DeviceStream stream) {
  buckets::look_at_some<<<1, buckets::sample_threads, 0, stream>>>(words(keys), n, map, plan);
  check_launch("look_at_some");
}

void count(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, Plan* plan,
           DeviceStream stream) {
  const unsigned blocks =
      resident_blocks(buckets::count_fine, buckets::threads, 0,
                      ceil_div(n, index_t{buckets::threads} * buckets::count_each));
  buckets::count_fine<<<blocks, buckets::threads, 0, stream>>>(words(keys), n, map, plan);
  check_launch("count_fine");
}

constexpr int tile_bytes = static_cast<int>(sizeof(buckets::TileMemory));

void divide(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, int buckets,
            Plan* plan, DeviceStream stream) {
  allow_shared(buckets::take_to_buckets, tile_bytes);
  buckets::take_to_buckets<<<narrow<unsigned>(ceil_div(n, index_t{buckets::tile})),
                             buckets::threads, tile_bytes, stream>>>(words(keys), n, map, buckets,
                                                                     plan);
  check_launch("take_to_buckets");
}

void sort_buckets(const std::uint64_t* bits, std::uint64_t* subs, std::uint64_t* to, index_t n,
                  const KeyMap<std::uint64_t>& map, const Division& into, Plan* plan,
                  std::byte* memory, DeviceStream stream) {
  const SubWork work(into, memory);
  clear(work.counts, work.cleared_bytes, stream);
  const unsigned parts =
      narrow<unsigned>(ceil_div(n, index_t{buckets::tile})) + static_cast<unsigned>(into.buckets);
  buckets::count_subs<<<parts, buckets::threads, 0, stream>>>(words(bits), into, plan, work.counts);
  check_launch("count_subs");
  buckets::place_subs<<<into.buckets, buckets::threads, 0, stream>>>(
      work.counts, into, most_keys, words(subs), plan, work.cursors);
  check_launch("place_subs");
  allow_shared(buckets::take_to_subs, tile_bytes);
  buckets::take_to_subs<<<parts, buckets::threads, tile_bytes, stream>>>(words(bits), into, plan,
                                                                         work.cursors);
  check_launch("take_to_subs");
  constexpr int sub_bytes = static_cast<int>(sizeof(SubMemory));
  allow_shared(sort_subs, sub_bytes);
  sort_subs<<<into.buckets * into.subs, threads, sub_bytes, stream>>>(
      words(subs), map, into, plan, work.counts, work.cursors, words(to));
  check_launch("sort_subs");
}

/// Returns whether the current device has the shared memory of these kernels; not one of 7.5.
bool fits() {
  constexpr index_t fixed = index_t{2} * buckets::fine_bins;  // bucket_of of take_to_buckets
  return kernels::shared_bytes_per_block() >=
         std::max(tile_bytes + fixed, static_cast<index_t>(sizeof(SubMemory)));
}

bool serves(index_t n) { return n >= least_n && n <= most_n && fits(); }

void divide_and_sort(const DeviceBlock<std::uint64_t, NoValue>& block, const Division& into,
                     const Work& work, DeviceStream stream) {
  clear(work.plan, static_cast<index_t>(sizeof(Plan)), stream);
  look(block.keys, block.n, block.map, work.plan, stream);
  count(block.keys, block.n, block.map, work.plan, stream);
  buckets::plan_buckets<<<1, buckets::plan_threads, 0, stream>>>(
      block.n, into, words(block.spare_keys), work.plan);
  check_launch("plan_buckets");
  divide(block.keys, block.n, block.map, into.buckets, work.plan, stream);
  sort_buckets(block.spare_keys, block.keys, block.keys, block.n, block.map, into, work.plan,
               work.subs, stream);
}

}  // namespace

void cuda_divide(const DeviceBlock<std::uint64_t, NoValue>& block, DeviceStream stream) {
  const Division into = buckets::division_of(block.n, 1);
  const Work work(into, block.work);
  divide_and_sort(block, into, work, stream);
  DeviceBlock<std::uint64_t, NoValue> rest = block;
  rest.work += work.bytes;
  cuda_radix_unless(&work.plan->done, rest, stream);
}

template <class Key, class Value>
void cuda_hybrid(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  if constexpr (sizeof(Key) == 8 && !has_values<Value>) {
    if (serves(block.n)) return cuda_divide(block, stream);
  }
  cuda_radix(block, stream);
}

template <class Key, class Value>
index_t cuda_hybrid_bytes(index_t n) {
  index_t bytes = cuda_radix_bytes<Key, Value>(n);
  if (sizeof(Key) == 8 && !has_values<Value> && n >= least_n)  // n too many is included, because a
                                                               // later call may have fewer
    bytes += Work(buckets::division_of(n, 1), nullptr).bytes;
  return bytes;
}

bool cuda_divided(const std::byte* work) {
  buckets::State state;
  machine::cuda::check(cudaMemcpy(&state, work, sizeof state, cudaMemcpyDeviceToHost),
                       "cudaMemcpy");
  return state.going != 0 && state.overflows == 0;
}

bool cuda_hybrid_divided(const std::byte* work, index_t n) {
  return serves(n) && cuda_divided(work);
}

const buckets::Kernels* bucket_kernels() {
  static const buckets::Kernels kernels{
      least_n,
      buckets::tile,
      look,
      count,
      divide,
      sort_buckets,
      [](const Division& into) { return SubWork(into, nullptr).bytes; },
      keys_to_raw<std::uint64_t>,
      fits};
  return &kernels;
}

TESSERA_SORT_INSTANTIATE_DEVICE(cuda_hybrid);

void add_hybrid_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function, int of_block,
                       index_t shared_bytes = 0) {
    to.push_back(machine::device_function("cuda_hybrid", of, function, of_block, shared_bytes));
  };
  constexpr auto tile_bytes = static_cast<index_t>(sizeof(buckets::TileMemory));
  add("sampling", buckets::look_at_some, buckets::sample_threads);
  add("histogram of buckets", buckets::count_fine, buckets::threads);
  add("plan of buckets", buckets::plan_buckets, buckets::plan_threads);
  add("distribution to buckets", buckets::take_to_buckets, buckets::threads, tile_bytes);
  add("histogram of sub-buckets", buckets::count_subs, buckets::threads);
  add("scan of sub-buckets", buckets::place_subs, buckets::threads);
  add("distribution to sub-buckets", buckets::take_to_subs, buckets::threads, tile_bytes);
  add("sort of sub-buckets", sort_subs, threads, static_cast<index_t>(sizeof(SubMemory)));
}

}  // namespace tessera::inline v1::sort
