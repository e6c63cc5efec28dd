// Quicksort in AVX-512, from one memory block to its twin and back. A vector of eight keys is parted by one
// table look-up and one permutation, and stored whole at both ends; parts of at most sixteen registers are
// sorted by networks.

#include <immintrin.h>

#include "kernels/sort/leaf.hpp"
#include "kernels/sort/leaf_network_avx512.hpp"

namespace tessera::sort::avx512 {
namespace {

/// Byte j of entry m: the lane that comes to place j when the lanes of mask m come first, in order.
struct PartTable {
  std::uint64_t entry[256];
};
constexpr PartTable make_part_table() {
  PartTable table{};
  for (unsigned m = 0; m < 256; ++m) {
    unsigned place = 0;
    for (unsigned pass = 0; pass < 2; ++pass) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (((m >> lane) & 1) != 1 - pass) continue;
        table.entry[m] |= std::uint64_t{lane} << (8 * place++);
      }
    }
  }
  return table;
}
alignas(64) constexpr PartTable part_table = make_part_table();

/// Eight keys at a time.
struct Eight64 {
  using B = std::uint64_t;
  using V = __m512i;
  static V load(const B* p) { return _mm512_loadu_si512(p); }
  static V load_some(const B* p, __mmask8 m) { return _mm512_maskz_loadu_epi64(m, p); }
  static void store(B* p, V v) { _mm512_storeu_si512(p, v); }
  static void store_some(B* p, __mmask8 m, V v) { _mm512_mask_compressstoreu_epi64(p, m, v); }
  static V all(B x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static __mmask8 less(V a, V b) { return _mm512_cmplt_epu64_mask(a, b); }
  static V part(V v, __mmask8 m) {
    const auto lanes = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(part_table.entry[m])));
    return _mm512_permutexvar_epi64(lanes, v);
  }
};

struct Eight32 {
  using B = std::uint32_t;
  using V = __m256i;
  static V load(const B* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static V load_some(const B* p, __mmask8 m) { return _mm256_maskz_loadu_epi32(m, p); }
  static void store(B* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static void store_some(B* p, __mmask8 m, V v) { _mm256_mask_compressstoreu_epi32(p, m, v); }
  static V all(B x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static __mmask8 less(V a, V b) { return _mm256_cmplt_epu32_mask(a, b); }
  static V part(V v, __mmask8 m) {
    const auto lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(part_table.entry[m])));
    return _mm256_permutexvar_epi32(lanes, v);
  }
};

/// Where the next keys go: below the pivot to the front, others to the back.
template <class E>
struct Ends {
  typename E::B* front;
  index_t gap;  ///< free places between front and back

  /// Eight keys; right when the gap is 8 or at least 16.
  void put(typename E::V v, __mmask8 below) {
    const auto parted = E::part(v, below);
    E::store(front, parted);
    E::store(front + gap - 8, parted);
    front += _mm_popcnt_u32(below);
    gap -= 8;
  }
  /// Those of the mask.
  void put_some(typename E::V v, __mmask8 valid, __mmask8 below) {
    const auto above = static_cast<__mmask8>(valid & ~below);
    const index_t up = _mm_popcnt_u32(above), low = _mm_popcnt_u32(below);
    E::store_some(front, below, v);
    E::store_some(front + gap - up, above, v);
    front += low;
    gap -= up + low;
  }
};

__mmask8 first_lanes(index_t n) { return static_cast<__mmask8>((1u << n) - 1); }

/// to[0:result] = keys of from[0:n] below the pivot, to[result:n] = the others.
template <class E>
index_t partition(const typename E::B* from, typename E::B* to, index_t n, typename E::B pivot) {
  const auto limit = E::all(pivot);
  Ends<E> ends{to, n};
  const index_t rest = n % 8;
  if (rest > 0) {
    const auto valid = first_lanes(rest);
    const auto v = E::load_some(from, valid);
    ends.put_some(v, valid, static_cast<__mmask8>(E::less(v, limit) & valid));
  }
  index_t i = rest;
  for (; i + 32 <= n; i += 32) {
    const auto v0 = E::load(from + i), v1 = E::load(from + i + 8);
    const auto v2 = E::load(from + i + 16), v3 = E::load(from + i + 24);
    ends.put(v0, E::less(v0, limit));
    ends.put(v1, E::less(v1, limit));
    ends.put(v2, E::less(v2, limit));
    ends.put(v3, E::less(v3, limit));
  }
  for (; i < n; i += 8) {
    const auto v = E::load(from + i);
    ends.put(v, E::less(v, limit));
  }
  return ends.front - to;
}

/// The same for the pieces of a bucket; they are not `to`.
template <class E>
index_t partition_pieces(const Bucket<typename E::B>& bucket, typename E::B* to, typename E::B pivot) {
  const auto limit = E::all(pivot);
  Ends<E> ends{to, bucket.n};
  for (index_t p = 0; p < bucket.count; ++p) {
    const auto [from, length] = bucket.pieces[p];
    index_t i = 0;
    for (; i + 8 <= length && ends.gap >= 16; i += 8) {
      const auto v = E::load(from + i);
      ends.put(v, E::less(v, limit));
    }
    for (; i < length; i += 8) {
      const auto valid = first_lanes(length - i < 8 ? length - i : 8);
      const auto v = E::load_some(from + i, valid);
      ends.put_some(v, valid, static_cast<__mmask8>(E::less(v, limit) & valid));
    }
  }
  return ends.front - to;
}

template <class B>
using EightOf = std::conditional_t<sizeof(B) == 4, Eight32, Eight64>;

template <class L>
__m512i middle(__m512i a, __m512i b, __m512i c) {
  return L::max(L::min(a, b), L::min(L::max(a, b), c));
}

/// A median of three of medians of nine, from random places; n >= network_keys.
template <class B>
B sampled_pivot(const B* keys, index_t n, std::uint64_t& state) {
  using L = LanesOf<B>;
  const auto places = static_cast<std::uint64_t>(n - L::lanes < 0xffffffff ? n - L::lanes : 0xffffffff);
  __m512i v[9];
  for (auto& some : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    some = _mm512_loadu_si512(keys + (((state >> 32) * places) >> 32));
  }
  const auto low = middle<L>(v[0], v[1], v[2]), high = middle<L>(v[3], v[4], v[5]);
  B ninther[L::lanes];
  _mm512_storeu_si512(ninther, middle<L>(low, high, middle<L>(v[6], v[7], v[8])));
  const B x = ninther[0], y = ninther[L::lanes / 2], z = ninther[L::lanes - 1];
  const B least = x < y ? x : y, greatest = x < y ? y : x;
  return z < least ? least : (z < greatest ? z : greatest);
}

enum class Pivots { halve_range, sample };

/// Sorts parts of a block: here[0:n] holds bits, `there` is its twin, to[0:n] (one of the two) gets the raw
/// keys.
template <class B>
class Quicksort {
 public:
  explicit Quicksort(const KeyMap<B>& map) : map_(map) {}

  /// All keys lie in [low, high]. Pivots halve that range until a part shows that this does not halve the
  /// keys; from there on they are sampled.
  void sort(B* here, B* there, B* to, index_t n, B low, B high, Pivots pivots) {
    while (n > network_keys<B>) {
      if (low == high) {
        fill_raw(to, n, low);
        return;
      }
      B pivot = static_cast<B>(low + (high - low) / 2 + 1);
      index_t below = pivots == Pivots::halve_range ? partition<EightOf<B>>(here, there, n, pivot) : 0;
      if (below < n / 8 || n - below < n / 8) {
        pivots = Pivots::sample;
        pivot = sampled_pivot(here, n, state_);
        if (pivot == low) ++pivot;  // then those equal to the least go their own way
        below = partition<EightOf<B>>(here, there, n, pivot);
        if (below == 0) {
          low = pivot;
          continue;
        }
      }
      sort(there, here, to, below, low, static_cast<B>(pivot - 1), pivots);
      B* const next = there + below;
      there = here + below;
      here = next;
      to += below;
      n -= below;
      low = pivot;
    }
    sort_network(here, to, n, map_);
  }

 private:
  void fill_raw(B* to, index_t n, B bits) {
    using L = LanesOf<B>;
    const auto raw = map_.to_raw(_mm512_broadcastq_epi64(_mm_cvtsi64_si128(
        static_cast<long long>(sizeof(B) == 8 ? bits : static_cast<std::uint64_t>(bits) * 0x100000001u))));
    for (index_t i = 0; i < n; i += L::lanes) L::store(to + i, valid_lanes<L>(n, i), raw);
  }

  Map<B> map_;
  std::uint64_t state_ = 1;
};

template <class B>
void sort_many(const Bucket<B>& bucket) {
  const auto [low, high] = bucket.bounds;
  const B pivot = static_cast<B>(low + (high - low) / 2 + (high > low ? 1 : 0));
  const index_t below = partition_pieces<EightOf<B>>(bucket, bucket.to, pivot);
  const index_t above = bucket.n - below;
  Quicksort<B> quicksort(bucket.map);
  const auto pivots = below < above / 8 || above < below / 8 ? Pivots::sample : Pivots::halve_range;
  B* const to = bucket.to;
  B* const work = bucket.work;
  if (below > 0) quicksort.sort(to, work, to, below, low, static_cast<B>(pivot - 1), pivots);
  if (above > 0) quicksort.sort(to + below, work + below, to + below, above, pivot, high, pivots);
}

template <class B>
void sort_few(const B* from, B* to, index_t n, const KeyMap<B>& map) {
  if (n > 0) sort_network(from, to, n, Map<B>(map));
}

/// A vector of keys: their bits, and each lane's bucket.
template <class L>
class Classifier {
  using B = typename L::B;

 public:
  explicit Classifier(const Division<B>& division)
      : map_(division.map),
        low_(L::all(division.low)),
        range_(L::all(division.range)),
        factor_(L::all(division.factor)),
        right_(_mm_cvtsi32_si128(division.right)),
        left_(_mm_cvtsi32_si128(division.left)) {}

  [[nodiscard]] __m512i bits(__m512i raw) const { return map_.to_bits(raw); }
  [[nodiscard]] __m512i place(__m512i bits) const {
    const auto above = L::sub(L::max(bits, low_), low_);
    return L::shift_left(L::shift_right(L::min(above, range_), right_), left_);
  }
  /// log_place(bits - low)
  [[nodiscard]] __m512i log_place(__m512i bits) const {
    const auto above = L::sub(L::max(bits, low_), low_);
    const auto zeros = L::min(L::leading_zeros(above), L::all(width - log_least));
    const auto to_right = L::sub(L::all(width - log_bits - 1), zeros);
    const auto scaled =
        _mm512_or_si512(L::shift_right(above, to_right), L::shift_left(above, L::sub(L::all(0), to_right)));
    // Where nothing is shifted both are the number itself.
    return L::add(L::shift_left(L::sub(L::all(width - log_least), zeros), unsigned{log_bits}), scaled);
  }
  [[nodiscard]] __m512i even_bucket(__m512i place) const {
    return L::shift_right(L::multiply(L::shift_right(place, 12), factor_), 16);
  }

 private:
  static constexpr B width = 8 * sizeof(B);

  Map<B> map_;
  __m512i low_, range_, factor_;
  __m128i right_, left_;
};

/// bucket[0:n] from places and the table of a division. Plain loads: the gather instruction takes longer.
void look_up_buckets(const std::uint32_t* table, const std::uint32_t* place, index_t n,
                     std::uint16_t* bucket) {
  for (index_t i = 0; i < n; ++i) {
    const std::uint32_t entry = table[place[i] >> 16];
    bucket[i] = static_cast<std::uint16_t>((entry >> 16) + (((place[i] & 0xffff) * (entry & 0xffff)) >> 16));
  }
}

enum class Places { even, linear, logarithmic };

template <Places kind, class B>
void classify_as(const Division<B>& division, const B* raw, index_t n, const B* ahead, B* bits,
                 std::uint16_t* bucket) {
  using L = LanesOf<B>;
  const Classifier<L> classifier(division);
  std::uint32_t places[classify_batch];
  for (index_t i = 0; i < n; i += L::lanes) {
    const auto valid = valid_lanes<L>(n, i);
    _mm_prefetch(reinterpret_cast<const char*>(ahead + i), _MM_HINT_T0);
    const auto mapped = classifier.bits(L::load(raw + i, valid));
    L::store(bits + i, valid, mapped);
    if constexpr (kind == Places::even)
      L::store_u16(bucket + i, valid, classifier.even_bucket(classifier.place(mapped)));
    else if constexpr (kind == Places::linear)
      L::store_u32(places + i, classifier.place(mapped));
    else
      L::store_u32(places + i, classifier.log_place(mapped));
  }
  if constexpr (kind != Places::even) look_up_buckets(division.table, places, n, bucket);
}

template <class B>
void classify(const Division<B>& division, const B* raw, index_t n, const B* ahead, B* bits,
              std::uint16_t* bucket) {
  if (division.table == nullptr)
    classify_as<Places::even>(division, raw, n, ahead, bits, bucket);
  else if (division.logarithmic)
    classify_as<Places::logarithmic>(division, raw, n, ahead, bits, bucket);
  else
    classify_as<Places::linear>(division, raw, n, ahead, bits, bucket);
}

void copy_past_cache(const void* from, void* to, index_t bytes) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
  for (index_t i = 0; i < bytes; i += 64) {
    const auto v = _mm512_loadu_si512(source + i);
    if (aligned)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(target + i), v);
    else
      _mm512_storeu_si512(target + i, v);
  }
}

/// The reductions of a survey, a vector of keys at a time.
template <class L>
struct Look {
  using B = typename L::B;
  __m512i least = L::all(static_cast<B>(~B{0})), greatest = L::all(0);
  __m512i any = L::all(0), every = L::all(static_cast<B>(~B{0}));
  index_t descents = 0, ascents = 0;

  void operator()(typename L::Mask valid, __m512i bits, __m512i before) {
    least = L::blend(valid, least, L::min(least, bits));
    greatest = L::blend(valid, greatest, L::max(greatest, bits));
    any = L::blend(valid, any, _mm512_or_si512(any, bits));
    every = L::blend(valid, every, _mm512_and_si512(every, bits));
    descents += _mm_popcnt_u32(L::less(bits, before) & valid);
    ascents += _mm_popcnt_u32(L::less(before, bits) & valid);
  }
};

template <class B>
Survey survey(const B* raw, index_t n, B first, const KeyMap<B>& key_map) {
  using L = LanesOf<B>;
  const Map<B> map(key_map);
  Look<L> look;
  if (n > 0)
    look(valid_lanes<L>(n, 0), map.to_bits(L::load(raw, valid_lanes<L>(n, 0))),
         map.to_bits(L::load_after(first, raw, valid_lanes<L>(n, 0))));
  index_t i = L::lanes;
  for (; i + L::lanes <= n; i += L::lanes) {
    _mm_prefetch(reinterpret_cast<const char*>(raw + i + 1024), _MM_HINT_T0);
    look(static_cast<typename L::Mask>(~0u), map.to_bits(_mm512_loadu_si512(raw + i)),
         map.to_bits(_mm512_loadu_si512(raw + i - 1)));
  }
  if (i < n) {
    const auto valid = valid_lanes<L>(n, i);
    look(valid, map.to_bits(L::load(raw + i, valid)), map.to_bits(L::load(raw + i - 1, valid)));
  }
  return {L::least(look.least), L::greatest(look.greatest), L::any(look.any) ^ L::every(look.every),
          look.descents, look.ascents};
}

}  // namespace

const LeafKernels<std::uint32_t> leaf_kernels32{
    network_keys<std::uint32_t>, sort_few<std::uint32_t>, sort_many<std::uint32_t>,
    classify<std::uint32_t>,     copy_past_cache,         survey<std::uint32_t>};
const LeafKernels<std::uint64_t> leaf_kernels64{
    network_keys<std::uint64_t>, sort_few<std::uint64_t>, sort_many<std::uint64_t>,
    classify<std::uint64_t>,     copy_past_cache,         survey<std::uint64_t>};

}  // namespace tessera::sort::avx512
