#pragma once
// One digit of the radix sort: every tile of keys is read once, sorted by the digit in shared memory and
// written to its places, which it learns from the tiles before it while those are still at work (decoupled
// look-back, Merrill and Garland 2016; Adinets and Merrill 2022).
//
// No block waits for one that might not run: a tile's number is drawn when a block starts on it, so that all
// tiles before it are finished or in the hands of running blocks.

#include "kernels/sort/cuda_device.cuh"

namespace tessera::sort::onesweep {

inline constexpr int digit_bits = 8;
inline constexpr int bins = 1 << digit_bits;
template <class Key>
inline constexpr int passes = static_cast<int>(sizeof(Key));

/// Keys of one launch: a count of them fits the value of a status word.
inline constexpr index_t portion = index_t{1} << 28;

/// A status word: what a tile says of one of its bins. It is written and read whole, so that nothing but the
/// word itself needs an order. The codes of earlier sweeps mean the same as 0, nothing yet.
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
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(code << value_bits | value) : "memory");
}

/// How lanes with the same digit find each other.
enum class Match {
  votes,        ///< a vote of the warp for each bit
  instruction,  ///< match.any
};

/// What only a measurement can settle.
template <int threads_, int items_, int blocks_, unsigned look_back_ = 8, Match match_ = Match::votes>
struct Shape {
  static constexpr int threads = threads_, items = items_;  // of a block; of a thread
  static constexpr int blocks = blocks_;             // a multiprocessor must hold, which limits registers
  static constexpr unsigned look_back = look_back_;  // status words a thread reads at once
  static constexpr Match match = match_;
  static constexpr int warps = threads / 32;
  static constexpr unsigned tile = threads * items;
  static_assert(threads >= bins && threads % 32 == 0 && tile <= 1 << 16);
};

/// What a pass does, as the histograms decide it.
struct Pass {
  int skipped;      ///< all keys agree in the digit
  int from_spare;   ///< the keys lie in the spare arrays
  int first, last;  ///< of those that are not skipped: map to bits before, back after
};
struct Plan {
  Pass pass[8];
  int swept;  ///< passes that are not skipped
};

/// One launch: keys [begin, begin + n) by the digit at `shift`.
template <class Key, class Value>
struct Sweep {
  DeviceBlock<Key, Value> block;
  index_t begin;
  unsigned n;
  int shift;
  const Pass* pass;
  const index_t* base;  ///< where each bin goes on; (bins)
  index_t* next_base;   ///< the same for the next portion
  unsigned* tiles_drawn;
  unsigned* status;  ///< (tiles, bins)
  Codes codes;
};

template <class Key, class Value, class S>
struct TileMemory {
  static constexpr unsigned carried = has_values<Value> ? S::tile : 1;
  union {
    unsigned counters[S::warps][bins];  // while the warps rank their keys
    Key keys[S::tile];                  // then sorted by digit
  };
  index_t target[bins];           // where the tile's bin goes, less where it starts in the tile
  Value values[carried];          // as they were read
  std::uint16_t source[carried];  // where the value of a sorted key is
  unsigned warp_sums[bins / 32];
  unsigned tile;
};

template <class Key>
__device__ __forceinline__ unsigned digit_of(Key key, int shift) {
  return static_cast<unsigned>(key >> shift) & (bins - 1);
}

/// The lanes whose digit is this lane's.
template <Match match>
__device__ __forceinline__ unsigned peers_of(unsigned digit) {
  if constexpr (match == Match::instruction) {
    return __match_any_sync(all_lanes, digit);
  } else {
    unsigned peers = all_lanes;
#pragma unroll
    for (int bit = 0; bit < digit_bits; ++bit) {
      const bool set = (digit >> bit & 1) != 0;
      const unsigned vote = __ballot_sync(all_lanes, set);
      peers &= set ? vote : ~vote;
    }
    return peers;
  }
}

/// ranks[u] = how many keys of this warp with the same digit come before; counters[0:bins] = how many there
/// are. A few keys at a time: their votes and their counting overlap.
template <class S, class Key>
__device__ __forceinline__ void rank_in_warp(const Key (&keys)[S::items], int shift, unsigned* counters,
                                             unsigned (&ranks)[S::items]) {
  constexpr int together = 4;
  const unsigned below = lanes_below();
#pragma unroll
  for (int first = 0; first < S::items; first += together) {
    unsigned peers[together], before[together];
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g < S::items) peers[g] = peers_of<S::match>(digit_of(keys[first + g], shift));
    }
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g < S::items) {
        before[g] = 0;
        if ((peers[g] & below) == 0)
          before[g] =
              atomicAdd(counters + digit_of(keys[first + g], shift), static_cast<unsigned>(__popc(peers[g])));
        __syncwarp();
      }
    }
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g < S::items)
        ranks[first + g] = __shfl_sync(all_lanes, before[g], __ffs(static_cast<int>(peers[g])) - 1) +
                           static_cast<unsigned>(__popc(peers[g] & below));
    }
  }
}

/// How many keys of the tiles before this one lie in the bin. Several tiles are asked at once: a word takes
/// longer to come than a tile takes to be done.
template <class S>
__device__ __forceinline__ unsigned keys_before(const unsigned* status, unsigned tile, unsigned bin,
                                                Codes codes) {
  unsigned sum = 0;
  for (unsigned next = tile; next > 0;) {  // the tiles before `next` are still to be asked
    unsigned words[S::look_back];
#pragma unroll
    for (unsigned b = 0; b < S::look_back; ++b) {
      const unsigned other = next > b + 1 ? next - b - 1 : 0;
      words[b] = peek(status + (static_cast<std::size_t>(other) * bins + bin));
    }
#pragma unroll
    for (unsigned b = 0; b < S::look_back; ++b) {
      const unsigned code = words[b] >> value_bits;
      if (code == codes.prefix) return sum + (words[b] & value_mask);  // tile 0 always says so
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
  __device__ TileOfKeys(const Sweep<Key, Value>& sweep, const Pass& pass, Memory& memory, unsigned tile)
      : sweep_(sweep),
        pass_(pass),
        memory_(memory),
        tile_(tile),
        begin_(sweep.begin + static_cast<index_t>(tile) * S::tile),
        valid_(min(sweep.n - tile * S::tile, S::tile)) {}

  /// Whoever calls sees to it that no thread still reads the memory.
  __device__ void run() {
    const unsigned warp = threadIdx.x / 32;
    for (unsigned i = lane_id(); i < bins; i += 32) memory_.counters[warp][i] = 0;
    __syncwarp();
    load();
    unsigned ranks[S::items];
    rank_in_warp<S>(keys_, sweep_.shift, memory_.counters[warp], ranks);
    __syncthreads();
    unsigned count = 0, start = 0;
    sum_warps(count, start);
#pragma unroll
    for (int u = 0; u < S::items; ++u) ranks[u] += memory_.counters[warp][digit_of(keys_[u], sweep_.shift)];
    __syncthreads();  // the keys take the counters' place
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      memory_.keys[ranks[u]] = keys_[u];
      if constexpr (has_values<Value>) memory_.source[ranks[u]] = static_cast<std::uint16_t>(place(u));
    }
    find_targets(count, start);
    if constexpr (has_values<Value>) wait_for_copies();
    __syncthreads();
    if (valid_ == S::tile)
      write<true>();
    else
      write<false>();
  }

 private:
  /// In the tile, of this thread's key u.
  __device__ unsigned place(int u) const {
    return threadIdx.x / 32 * (32U * S::items) + static_cast<unsigned>(u) * 32 + lane_id();
  }

  /// Keys beyond the end are the greatest and the last, so that they stay behind all others.
  __device__ void load() {
    const Key* const from = (pass_.from_spare != 0 ? sweep_.block.spare_keys : sweep_.block.keys) + begin_;
#pragma unroll
    for (int u = 0; u < S::items; ++u) keys_[u] = place(u) < valid_ ? __ldcs(from + place(u)) : Key{0};
    if constexpr (has_values<Value>) load_values();
    if (pass_.first != 0 && !sweep_.block.map.identity()) {
#pragma unroll
      for (int u = 0; u < S::items; ++u) keys_[u] = sweep_.block.map.to_bits(keys_[u]);
    }
    if (valid_ == S::tile) return;
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      if (place(u) >= valid_) keys_[u] = static_cast<Key>(~Key{0});
    }
  }
  __device__ void load_values() {
    if (makes_positions()) return;
    const Value* const from =
        (pass_.from_spare != 0 ? sweep_.block.spare_values : sweep_.block.values) + begin_;
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      if (place(u) < valid_) copy_async(memory_.values + place(u), from + place(u));
    }
  }
  __device__ bool makes_positions() const {
    return pass_.first != 0 && sweep_.block.payload == Payload::positions;
  }

  /// Thread b: how many keys bin b has in the tile, and where it starts there; said to the tiles that follow.
  /// The counters become the places where each warp's keys of a bin start.
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
    memory_.target[bin] = base + before - start;
    if (sweep_.n - tile_ * S::tile <= S::tile) {  // the last of the portion
      const unsigned padding = bin == bins - 1 ? S::tile - valid_ : 0;
      sweep_.next_base[bin] = base + before + count - padding;
    }
  }

  template <bool full>
  __device__ void write() {
    const bool map_back = pass_.last != 0 && !sweep_.block.map.identity();
    Key* const to = pass_.from_spare != 0 ? sweep_.block.keys : sweep_.block.spare_keys;
#pragma unroll
    for (int u = 0; u < S::items; ++u) {
      const unsigned at = static_cast<unsigned>(u) * S::threads + threadIdx.x;
      if (!full && at >= valid_) break;
      const Key key = memory_.keys[at];
      const index_t target = memory_.target[digit_of(key, sweep_.shift)] + at;
      to[target] = map_back ? sweep_.block.map.to_raw(key) : key;
      if constexpr (has_values<Value>) write_value(at, target);
    }
  }
  __device__ void write_value(unsigned at, index_t target) {
    Value* const to = pass_.from_spare != 0 ? sweep_.block.values : sweep_.block.spare_values;
    const unsigned source = memory_.source[at];
    to[target] = makes_positions() ? static_cast<Value>(begin_ + source) : memory_.values[source];
  }

  __device__ unsigned* word(unsigned bin) const {
    return sweep_.status + (static_cast<std::size_t>(tile_) * bins + bin);
  }

  const Sweep<Key, Value>& sweep_;
  const Pass& pass_;
  Memory& memory_;
  unsigned tile_;
  index_t begin_;   // of the tile, in the keys
  unsigned valid_;  // keys of the tile
  Key keys_[S::items];
};

template <class Key, class Value, class S>
__global__ void __launch_bounds__(S::threads, S::blocks)
    sweep_digit(const __grid_constant__ Sweep<Key, Value> sweep) {
  extern __shared__ __align__(16) unsigned char onesweep_memory[];
  auto& memory = *reinterpret_cast<TileMemory<Key, Value, S>*>(onesweep_memory);
  const Pass pass = *sweep.pass;
  if (pass.skipped != 0) return;
  const unsigned tiles = (sweep.n + S::tile - 1) / S::tile;
  while (true) {
    __syncthreads();  // the tile before is written
    if (threadIdx.x == 0) memory.tile = atomicAdd(sweep.tiles_drawn, 1U);
    __syncthreads();
    const unsigned tile = memory.tile;
    if (tile >= tiles) return;
    TileOfKeys<Key, Value, S>(sweep, pass, memory, tile).run();
  }
}

}  // namespace tessera::sort::onesweep
