// Merge sort on the device: tiles sorted in shared memory, then runs merged pairwise. All threads
// merge equally many items, found by a binary search along their diagonal of the merge matrix
// (merge path, Green et al. 2012).

#include <string>

#include "base/element.hpp"
#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 256;
constexpr int partition_threads = 128;

/// Items per thread, odd numbers: a thread's items are contiguous in shared memory, and threads
/// then start in different banks.
template <class Key>
constexpr int items = sizeof(Key) == 4 ? 15 : 9;
template <class Key>
constexpr int tile = threads* items<Key>;

/// Returns how many of the first `diagonal` items of the merge of a[0:a_count] and b[0:b_count]
/// come from a; equal items of a come first.
template <class Key, class Index>
__device__ __forceinline__ Index split(const Key* a, Index a_count, const Key* b, Index b_count,
                                       Index diagonal) {
  Index low = diagonal > b_count ? diagonal - b_count : 0,
        high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const Index middle = (low + high) / 2;
    if (b[diagonal - 1 - middle] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// A tile in shared memory; source[i] is the position of key i's value when the tile was read.
template <class Key, class Value>
struct Shared {
  Key keys[tile<Key>];
  std::uint16_t source[has_values<Value> ? tile<Key> : 1];
};

/// One thread's items.
template <class Key, class Value>
struct Held {
  static constexpr int count = items<Key>;
  Key keys[count];
  unsigned source[count];

  /// Sorts stably by odd-even transposition in `count` rounds.
  __device__ __forceinline__ void sort() {
#pragma unroll
    for (int round = 0; round < count; ++round) {
#pragma unroll
      for (int i = round % 2; i + 1 < count; i += 2) {
        const bool wrong = keys[i + 1] < keys[i];
        const Key low = wrong ? keys[i + 1] : keys[i], high = wrong ? keys[i] : keys[i + 1];
        keys[i] = low;
        keys[i + 1] = high;
        if constexpr (has_values<Value>) {
          const unsigned first = wrong ? source[i + 1] : source[i],
                         second = wrong ? source[i] : source[i + 1];
          source[i] = first;
          source[i + 1] = second;
        }
      }
    }
  }

  /// Takes the items of merge(shared[a:a_end], shared[b:b_end]) from (a, b) on, fewer if those end
  /// sooner.
  template <bool moves_source>
  __device__ __forceinline__ void merge(const Shared<Key, Value>& shared, int a, int a_end, int b,
                                        int b_end) {
    Key from_a = a < a_end ? shared.keys[a] : Key{0}, from_b = b < b_end ? shared.keys[b] : Key{0};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const bool takes_b = b < b_end && (a >= a_end || from_b < from_a);
      keys[i] = takes_b ? from_b : from_a;
      if constexpr (has_values<Value>) {
        const int at = takes_b ? b : a;
        if constexpr (moves_source)
          source[i] = at < b_end ? shared.source[at] : 0U;
        else
          source[i] = static_cast<unsigned>(at);
      }
      if (takes_b) {
        ++b;
        from_b = b < b_end ? shared.keys[b] : Key{0};
      } else {
        ++a;
        from_a = a < a_end ? shared.keys[a] : Key{0};
      }
    }
  }

  /// Stores the items contiguously.
  __device__ __forceinline__ void store(Shared<Key, Value>& shared) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int at = static_cast<int>(threadIdx.x) * count + i;
      shared.keys[at] = keys[i];
      if constexpr (has_values<Value>) shared.source[at] = static_cast<std::uint16_t>(source[i]);
    }
  }
};

template <class Key, class Value>
struct Places {
  Key *keys_from, *keys_to;
  Value *values_from, *values_to;
};

enum class MapBack { no, yes };

/// Sorts to[tile] = from[tile].
template <class Key, class Value>
__global__ void __launch_bounds__(threads)
    sort_tiles(DeviceBlock<Key, Value> block, Places<Key, Value> places, MapBack map_back) {
  __shared__ Shared<Key, Value> shared;
  constexpr int count = items<Key>;
  const int me = static_cast<int>(threadIdx.x);
  const index_t begin = static_cast<index_t>(blockIdx.x) * tile<Key>;
  const int valid = static_cast<int>(min(block.n - begin, index_t{tile<Key>}));
  for (int at = me; at < tile<Key>; at += threads)  // padding beyond the end stays last
    shared.keys[at] =
        at < valid ? block.map.to_bits(places.keys_from[begin + at]) : static_cast<Key>(~Key{0});
  __syncthreads();
  Held<Key, Value> held;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    held.keys[i] = shared.keys[me * count + i];
    held.source[i] = static_cast<unsigned>(me * count + i);
  }
  held.sort();
  __syncthreads();
  held.store(shared);
  __syncthreads();
  for (int group = 1; group < threads; group *= 2) {
    const int run = group * count, first = me / (2 * group) * (2 * run);
    const int diagonal = me % (2 * group) * count;
    const int a = split(shared.keys + first, run, shared.keys + first + run, run, diagonal);
    held.template merge<true>(shared, first + a, first + run, first + run + diagonal - a,
                              first + 2 * run);
    __syncthreads();
    held.store(shared);
    __syncthreads();
  }
  Value values[has_values<Value> ? count : 1];
  if constexpr (has_values<Value>) {  // all are read before any is written: source and destination
                                      // may be the same
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int at = i * threads + me;
      if (at >= valid) break;
      const index_t from = begin + shared.source[at];
      values[i] =
          block.payload == Payload::positions ? static_cast<Value>(from) : places.values_from[from];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int at = i * threads + me;
    if (at >= valid) break;
    const Key key = shared.keys[at];
    places.keys_to[begin + at] = map_back == MapBack::yes ? block.map.to_raw(key) : key;
    if constexpr (has_values<Value>) places.values_to[begin + at] = values[i];
  }
}

/// The two runs from which an item of the output comes.
struct Runs {
  index_t begin, a_count, b_count;
  __device__ Runs(index_t at, index_t run, index_t n) {
    begin = at / (2 * run) * (2 * run);
    a_count = min(run, n - begin);
    b_count = min(run, n - begin - a_count);
  }
};

/// Sets from_a[t] to the number of items of the first run before tile t in the merge.
template <class Key>
__global__ void __launch_bounds__(partition_threads)
    partition(const Key* keys, index_t n, index_t run, index_t tiles, index_t* from_a) {
  const index_t t = static_cast<index_t>(blockIdx.x) * partition_threads + threadIdx.x;
  if (t >= tiles) return;
  const index_t at = t * tile<Key>;
  const Runs runs(at, run, n);
  const Key* const a = keys + runs.begin;
  from_a[t] = split(a, runs.a_count, a + runs.a_count, runs.b_count, at - runs.begin);
}

/// Merges the runs of `from` pairwise into `to`.
template <class Key, class Value>
__global__ void __launch_bounds__(threads)
    merge_tiles(DeviceBlock<Key, Value> block, Places<Key, Value> places, index_t run,
                const index_t* from_a, MapBack map_back) {
  __shared__ Shared<Key, Value> shared;
  constexpr int count = items<Key>;
  const int me = static_cast<int>(threadIdx.x);
  const index_t at = static_cast<index_t>(blockIdx.x) * tile<Key>;
  const Runs runs(at, run, block.n);
  const index_t diagonal = at - runs.begin, total = runs.a_count + runs.b_count;
  const index_t end = min(diagonal + tile<Key>, total);
  const index_t a = from_a[blockIdx.x],
                a_end = end == total ? runs.a_count : from_a[blockIdx.x + 1];
  const int a_here = static_cast<int>(a_end - a), here = static_cast<int>(end - diagonal);
  // source(i) is the position of item i of this tile's items, those of the first run before those
  // of the second.
  const auto source = [&](int i) {
    return runs.begin + (i < a_here ? a + i : runs.a_count + (diagonal - a) + (i - a_here));
  };
  for (int i = me; i < here; i += threads) shared.keys[i] = places.keys_from[source(i)];
  __syncthreads();
  const int mine = min(me * count, here);
  const int from_first = split(shared.keys, a_here, shared.keys + a_here, here - a_here, mine);
  Held<Key, Value> held;
  held.template merge<false>(shared, from_first, a_here, a_here + mine - from_first, here);
  __syncthreads();
  held.store(shared);
  __syncthreads();
  for (int i = me; i < here; i += threads) {
    const Key key = shared.keys[i];
    places.keys_to[at + i] = map_back == MapBack::yes ? block.map.to_raw(key) : key;
    if constexpr (has_values<Value>)
      places.values_to[at + i] = places.values_from[source(shared.source[i])];
  }
}

index_t tiles_of(index_t n, int tile_items) {
  return ceil_div(n, static_cast<index_t>(tile_items));
}

}  // namespace

template <class Key, class Value>
void cuda_merge(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  if (block.n == 0) return;
  const index_t tiles = tiles_of(block.n, tile<Key>);
  const unsigned blocks = narrow<unsigned>(tiles);
  int passes = 0;
  for (index_t run = tile<Key>; run < block.n; run *= 2) ++passes;
  auto* const from_a = reinterpret_cast<index_t*>(block.work);
  Places<Key, Value> places{block.keys, block.keys, block.values, block.values};
  if (passes % 2 == 1) places = {block.keys, block.spare_keys, block.values, block.spare_values};
  const auto map_back = [&](int passes_left) {
    return passes_left == 0 ? MapBack::yes : MapBack::no;
  };
  sort_tiles<<<blocks, threads, 0, stream>>>(block, places, map_back(passes));
  check_launch("sort_tiles");
  index_t run = tile<Key>;
  for (int left = passes; left > 0; --left, run *= 2) {
    places =
        left % 2 == 1
            ? Places<Key, Value>{block.spare_keys, block.keys, block.spare_values, block.values}
            : Places<Key, Value>{block.keys, block.spare_keys, block.values, block.spare_values};
    partition<<<narrow<unsigned>(ceil_div(tiles, partition_threads)), partition_threads, 0,
                stream>>>(places.keys_from, block.n, run, tiles, from_a);
    check_launch("partition");
    merge_tiles<<<blocks, threads, 0, stream>>>(block, places, run, from_a, map_back(left - 1));
    check_launch("merge_tiles");
  }
}

template <class Key, class Value>
index_t cuda_merge_bytes(index_t n) {
  return tiles_of(n, tile<Key>) * static_cast<index_t>(sizeof(index_t));
}

TESSERA_SORT_INSTANTIATE_DEVICE(cuda_merge);

void add_merge_functions(std::vector<machine::DeviceFunction>& to) {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  const auto add = [&](const std::string& of, auto* function, int block_threads) {
    to.push_back(machine::device_function("cuda_merge", of, function, block_threads));
  };
  const auto of_items = [&]<class Key, class Value>(const std::string& of, Type<Key>, Type<Value>) {
    add(of + ", tiles", sort_tiles<Key, Value>, threads);
    add(of + ", merge", merge_tiles<Key, Value>, threads);
  };
  of_items("keys of 4 bytes", Type<U32>{}, Type<NoValue>{});
  of_items("keys of 8 bytes", Type<U64>{}, Type<NoValue>{});
  of_items("4 + 4 bytes", Type<U32>{}, Type<U32>{});
  of_items("8 + 4 bytes", Type<U64>{}, Type<U32>{});
  of_items("8 + 8 bytes", Type<U64>{}, Type<U64>{});
  add("keys of 4 bytes, merge path", partition<U32>, partition_threads);
  add("keys of 8 bytes, merge path", partition<U64>, partition_threads);
}

}  // namespace tessera::inline v1::sort
