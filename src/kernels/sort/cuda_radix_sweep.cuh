#pragma once
// One digit of the radix sort: each tile of keys is read once, sorted by the digit in shared memory
// and written to its destination, which depends on the tiles before it, possibly still in progress
// (decoupled look-back, Merrill and Garland 2016; Adinets and Merrill 2022).
//
// No block waits for one that may never run: a tile's number is drawn when a block starts it, so
// all tiles before it are finished or assigned to running blocks.

#include "kernels/cuda_async.cuh"
#include "kernels/cuda_code.cuh"
#include "kernels/sort/cuda_radix_rank.cuh"

namespace tessera::inline v1::sort::onesweep {

/// Maximum keys per launch, so that counts fit the value of a status word.
inline constexpr index_t portion = index_t{1} << 28;

/// A status word: the state of one bin of a tile. It is written and read atomically, so no other
/// memory needs ordering. The codes of earlier sweeps are equivalent to 0, not yet available.
inline constexpr int value_bits = 29;
inline constexpr unsigned value_mask = (1U << value_bits) - 1;
inline constexpr unsigned sweeps_a_clearing = 3;  // two codes each, in the 3 bits above the value
struct Codes {
  unsigned count;   ///< of the tile alone
  unsigned prefix;  ///< of the tile and all before it
};

__device__ __forceinline__ unsigned peek(const unsigned* word) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ __forceinline__ void post(unsigned* word, unsigned code, unsigned value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(code << value_bits | value)
               : "memory");
}

/// The actions of a pass, decided from the histograms.
struct Pass {
  int skipped;      ///< all keys agree in the digit
  int from_spare;   ///< the keys are in the spare arrays
  int first, last;  ///< of those not skipped: map to bits before, back after
};
struct Plan {
  Pass pass[8];
  int swept;  ///< passes not skipped
};

/// One launch: keys [begin, begin + n) by the digit at `shift`.
template <class Key, class Value>
struct SweepLaunch {
  DeviceBlock<Key, Value> block;
  index_t begin;
  unsigned n;
  int shift;
  const Pass* pass;
  const index_t* base;  ///< next position of each bin; (bins)
  index_t* next_base;   ///< the same for the next portion
  unsigned* tiles_drawn;
  unsigned* status;  ///< (tiles, bins)
  Codes codes;
};

/// Destination of the tile's share of a bin, minus its start in the tile.
template <class Key, class Value>
struct Target {
  Key* keys;
  Value* values;
};
template <class Key>
struct Target<Key, NoValue> {
  Key* keys;
};

template <class Key, class Value, class S>
struct TileMemory {
  static constexpr unsigned carried = has_values<Value> ? S::tile : 1;
  union {
    unsigned counters[S::warps][bins];  // while the warps rank their keys
    Key keys[S::tile];                  // then sorted by digit
  };
  Target<Key, Value> targets[bins];
  alignas(16) Value values[carried];  // in the order read
  std::uint16_t source[carried];      // position of a sorted key's value
  unsigned warp_sums[bins / 32];
  unsigned tile;
};

/// Returns the number of keys in the bin in all tiles before this one. Reads several tiles at once,
/// because the latency of a word exceeds the time of a tile.
template <class S>
__device__ __forceinline__ unsigned keys_before(const unsigned* status, unsigned tile, unsigned bin,
                                                Codes codes) {
  unsigned sum = 0;
  for (unsigned next = tile; next > 0;) {  // the tiles before `next` are still to be read
    unsigned words[S::look_back];
#pragma unroll
    for (unsigned b = 0; b < S::look_back; ++b) {
      const unsigned other = next > b + 1 ? next - b - 1 : 0;
      words[b] = peek(status + (static_cast<std::size_t>(other) * bins + bin));
    }
#pragma unroll
    for (unsigned b = 0; b < S::look_back; ++b) {
      const unsigned code = words[b] >> value_bits;
      if (code == codes.prefix) return sum + (words[b] & value_mask);  // tile 0 always has a prefix
      if (code != codes.count) break;
      sum += words[b] & value_mask;
      --next;
    }
  }
  return sum;
}

template <class Key, class Value, class S>
class TileOfKeys {
 public:
  using Memory = TileMemory<Key, Value, S>;
  __device__ TileOfKeys(const SweepLaunch<Key, Value>& sweep, const Pass& pass, Memory& memory,
                        unsigned tile)
      : sweep_(sweep),
        pass_(pass),
        memory_(memory),
        tile_(tile),
        begin_(sweep.begin + static_cast<index_t>(tile) * S::tile),
        valid_(min(sweep.n - tile * S::tile, S::tile)) {}

  /// Sorts and writes the tile. Precondition: no thread still reads the memory. full: the tile has
  /// all its keys.
  template <bool full>
  __device__ __forceinline__ void run() {
    const unsigned warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < bins / 32; ++i)
      memory_.counters[warp][i * 32 + static_cast<int>(lane_id())] = 0;
    __syncwarp();
    load<full>();
    unsigned ranks[S::items];
    rank_in_warp<S>(keys_, sweep_.shift, memory_.counters[warp], ranks);
    __syncthreads();
    unsigned count = 0, start = 0;
    sum_warps(count, start);
#pragma unroll
    for (int u = 0; u < S::items; ++u)
      ranks[u] += memory_.counters[warp][digit_of(keys_[u], sweep_.shift)];
    __syncthreads();  // the keys reuse the counters' memory
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      memory_.keys[ranks[u]] = keys_[u];
      if constexpr (has_values<Value>)
        memory_.source[ranks[u]] = static_cast<std::uint16_t>(place(u));
    }
    find_targets(count, start);
    if constexpr (has_values<Value>) kernels::wait_for_copies();
    __syncthreads();
    write<full>();
  }

 private:
  /// Returns the position in the tile of this thread's key u.
  __device__ unsigned place(int u) const {
    return threadIdx.x / 32 * (32U * S::items) + static_cast<unsigned>(u) * 32 + lane_id();
  }

  /// Loads the keys; those beyond the end are the greatest and the last, so that they sort last.
  template <bool full>
  __device__ __forceinline__ void load() {
    const Key* const from =
        (pass_.from_spare != 0 ? sweep_.block.spare_keys : sweep_.block.keys) + begin_;
#pragma unroll
    for (int u = 0; u < S::items; ++u)
      keys_[u] = full || place(u) < valid_ ? __ldcg(from + place(u)) : Key{0};
    if constexpr (has_values<Value>) {
      if (!makes_positions()) load_values<full>();
    }
    if (pass_.first != 0 && !sweep_.block.map.identity()) {
#pragma unroll
      for (int u = 0; u < S::items; ++u) keys_[u] = sweep_.block.map.to_bits(keys_[u]);
    }
    if constexpr (!full) {
#pragma unroll
      for (int u = 0; u < S::items; ++u) {
        if (place(u) >= valid_) keys_[u] = static_cast<Key>(~Key{0});
      }
    }
  }
  /// Loads the values, 16 bytes at a time if aligned: a copy costs the same for 4 bytes.
  template <bool full>
  __device__ __forceinline__ void load_values() {
    const Value* const from =
        (pass_.from_spare != 0 ? sweep_.block.spare_values : sweep_.block.values) + begin_;
    constexpr unsigned at_once = 16 / sizeof(Value), of_warp = 32U * S::items;
    if (full && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
      const unsigned begin = threadIdx.x / 32 * of_warp;
#pragma unroll
      for (unsigned i = 0; i < of_warp; i += 32 * at_once) {
        const unsigned at = begin + i + lane_id() * at_once;
        if (i + 32 * at_once <= of_warp || at < begin + of_warp)
          kernels::copy_async<16>(kernels::shared_address(memory_.values + at), from + at);
      }
      return;
    }
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      if (full || place(u) < valid_)
        kernels::copy_async<sizeof(Value)>(kernels::shared_address(memory_.values + place(u)),
                                           from + place(u));
    }
  }
  __device__ bool makes_positions() const {
    return pass_.first != 0 && sweep_.block.payload == Payload::positions;
  }

  /// Computes, in thread b, how many keys bin b has in the tile and its start there, and publishes
  /// the count to the following tiles. The counters become the starts of each warp's keys of a bin.
  __device__ void sum_warps(unsigned& count, unsigned& start) {
    const unsigned bin = threadIdx.x;
    unsigned inclusive = 0;
    if (bin < bins) {
#pragma unroll
      for (int w = 0; w < S::warps; ++w) count += memory_.counters[w][bin];
      post(word(bin), tile_ == 0 ? sweep_.codes.prefix : sweep_.codes.count, count);
      inclusive = warp_prefix_sum(count);
      if (lane_id() == 31) memory_.warp_sums[bin / 32] = inclusive;
    }
    __syncthreads();
    if (bin < bins) {
      start = inclusive - count;
      for (unsigned w = 0; w < bin / 32; ++w) start += memory_.warp_sums[w];
      unsigned next = start;
#pragma unroll
      for (int w = 0; w < S::warps; ++w) {
        const unsigned of_warp = memory_.counters[w][bin];
        memory_.counters[w][bin] = next;
        next += of_warp;
      }
    }
    __syncthreads();
  }

  __device__ void find_targets(unsigned count, unsigned start) {
    const unsigned bin = threadIdx.x;
    if (bin >= bins) return;
    const unsigned before = keys_before<S>(sweep_.status, tile_, bin, sweep_.codes);
    if (tile_ != 0) post(word(bin), sweep_.codes.prefix, before + count);
    const index_t base = sweep_.base[bin];
    const index_t target = base + before - start;
    memory_.targets[bin].keys =
        (pass_.from_spare != 0 ? sweep_.block.keys : sweep_.block.spare_keys) + target;
    if constexpr (has_values<Value>)
      memory_.targets[bin].values =
          (pass_.from_spare != 0 ? sweep_.block.values : sweep_.block.spare_values) + target;
    if (sweep_.n - tile_ * S::tile <= S::tile) {  // the last of the portion
      const unsigned padding = bin == bins - 1 ? S::tile - valid_ : 0;
      sweep_.next_base[bin] = base + before + count - padding;
    }
  }

  template <bool full>
  __device__ __forceinline__ void write() {
    const bool map_back = pass_.last != 0 && !sweep_.block.map.identity(),
               positions = makes_positions();
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      const unsigned at = static_cast<unsigned>(u) * S::threads + threadIdx.x;
      if (!full && at >= valid_) break;
      const Key key = memory_.keys[at];
      const Target<Key, Value> target = memory_.targets[digit_of(key, sweep_.shift)];
      target.keys[at] = map_back ? sweep_.block.map.to_raw(key) : key;
      if constexpr (has_values<Value>) {
        const unsigned source = memory_.source[at];
        target.values[at] =
            positions ? static_cast<Value>(begin_ + source) : memory_.values[source];
      }
    }
  }

  __device__ unsigned* word(unsigned bin) const {
    return sweep_.status + (static_cast<std::size_t>(tile_) * bins + bin);
  }

  const SweepLaunch<Key, Value>& sweep_;
  const Pass& pass_;
  Memory& memory_;
  unsigned tile_;
  index_t begin_;   // of the tile, in the keys
  unsigned valid_;  // keys of the tile
  Key keys_[S::items];
};

template <class Key, class Value, class S>
__global__ void __launch_bounds__(S::threads, kernels::at_most_resident(S::threads, S::blocks))
    sweep_digit(const __grid_constant__ SweepLaunch<Key, Value> sweep) {
  extern __shared__ __align__(16) unsigned char onesweep_memory[];
  auto& memory = *reinterpret_cast<TileMemory<Key, Value, S>*>(onesweep_memory);
  const Pass pass = *sweep.pass;
  if (pass.skipped != 0) return;
  const unsigned tiles = (sweep.n + S::tile - 1) / S::tile;
  while (true) {
    __syncthreads();  // the previous tile is written
    if (threadIdx.x == 0) memory.tile = atomicAdd(sweep.tiles_drawn, 1U);
    __syncthreads();
    const unsigned tile = memory.tile;
    if (tile >= tiles) return;
    TileOfKeys<Key, Value, S> work(sweep, pass, memory, tile);
    if (sweep.n - tile * S::tile >= S::tile)
      work.template run<true>();
    else
      work.template run<false>();
  }
}

}  // namespace tessera::inline v1::sort::onesweep
