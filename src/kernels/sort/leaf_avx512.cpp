// Quicksort in AVX-512, in place. A vector of keys is parted by one or two permutations and stored
// whole at both ends; parts of at most sixteen registers are sorted by networks.

#include <immintrin.h>

#include "kernels/sort/leaf.hpp"
#include "kernels/sort/leaf_lanes_avx512.hpp"
#include "kernels/sort/leaf_merge_avx512.hpp"
#include "kernels/sort/leaf_network_avx512.hpp"
#include "kernels/sort/leaf_partition_avx512.hpp"

namespace tessera::sort::avx512 {
namespace {

template <class L>
__m512i middle(__m512i a, __m512i b, __m512i c) {
  return L::max(L::min(a, b), L::min(L::max(a, b), c));
}

constexpr auto as_it_is = [](__m512i keys) { return keys; };

/// A median of three of medians of nine, from random places; n >= network_keys.
template <class B, class As>
B sampled_pivot(const B* keys, index_t n, std::uint64_t& state, const As& as) {
  using L = LanesOf<B>;
  const auto places =
      static_cast<std::uint64_t>(n - L::lanes < 0xffffffff ? n - L::lanes : 0xffffffff);
  __m512i v[9];
  for (auto& some : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    some = as(_mm512_loadu_si512(keys + (((state >> 32) * places) >> 32)));
  }
  const auto low = middle<L>(v[0], v[1], v[2]), high = middle<L>(v[3], v[4], v[5]);
  B ninther[L::lanes];
  _mm512_storeu_si512(ninther, middle<L>(low, high, middle<L>(v[6], v[7], v[8])));
  const B x = ninther[0], y = ninther[L::lanes / 2], z = ninther[L::lanes - 1];
  const B least = x < y ? x : y, greatest = x < y ? y : x;
  return z < least ? least : (z < greatest ? z : greatest);
}

enum class Pivots { halve_range, sample };

/// Sorts parts of a block that hold bits; raw keys come out.
template <class B>
class Quicksort {
 public:
  explicit Quicksort(const KeyMap<B>& map) : key_map_(map), map_(map) {}

  /// All of data[0:n] lie in [low, high]. Pivots halve that range until a part shows that this does
  /// not halve the keys; from there on they are sampled.
  void sort(B* data, index_t n, B low, B high, Pivots pivots) {
    while (n > network_keys<B>) {
      if (low == high) {
        fill_raw(data, n, low);
        return;
      }
      B pivot = static_cast<B>(low + (high - low) / 2 + 1);
      index_t below =
          pivots == Pivots::halve_range ? partition<PartsOf<B>>(data, n, pivot, as_it_is) : 0;
      if (below < n / 3 || n - below < n / 3) {
        pivots = Pivots::sample;
        pivot = sampled_pivot(data, n, state_, as_it_is);
        if (pivot == low) ++pivot;  // then those equal to the least go their own way
        below = partition<PartsOf<B>>(data, n, pivot, as_it_is);
      }
      sort(data, below, low, static_cast<B>(pivot - 1), pivots);
      data += below;
      n -= below;
      low = pivot;
    }
    sort_network(data, data, n, {low, high}, key_map_, map_);
  }

 private:
  void fill_raw(B* to, index_t n, B bits) {
    using L = LanesOf<B>;
    const auto raw = map_.to_raw(_mm512_broadcastq_epi64(_mm_cvtsi64_si128(static_cast<long long>(
        sizeof(B) == 8 ? bits : static_cast<std::uint64_t>(bits) * 0x100000001u))));
    for (index_t i = 0; i < n; i += L::lanes) L::store(to + i, valid_lanes<L>(n, i), raw);
  }

  const KeyMap<B>& key_map_;
  Map<B> map_;
  std::uint64_t state_ = 1;
};

template <class B>
void sort_many(const Bucket<B>& bucket) {
  const auto [low, high] = bucket.bounds;
  const B pivot = static_cast<B>(low + (high - low) / 2 + (high > low ? 1 : 0));
  const index_t below = partition_pieces<PartsOf<B>>(bucket, bucket.to, pivot);
  const index_t above = bucket.n - below;
  Quicksort<B> quicksort(bucket.map);
  const auto pivots = below < above / 2 || above < below / 2 ? Pivots::sample : Pivots::halve_range;
  quicksort.sort(bucket.to, below, low, static_cast<B>(pivot - 1), pivots);
  quicksort.sort(bucket.to + below, above, pivot, high, pivots);
}

/// The first partition makes bits of raw keys.
template <class B>
void quicksort(B* data, index_t n, const KeyMap<B>& key_map) {
  const Map<B> map(key_map);
  const auto to_bits = [&](__m512i raw) { return map.to_bits(raw); };
  std::uint64_t state = 0;
  B pivot = sampled_pivot(data, n, state, to_bits);
  if (pivot == 0) ++pivot;
  const index_t below = partition<PartsOf<B>>(data, n, pivot, to_bits);
  Quicksort<B> quicksort(key_map);
  quicksort.sort(data, below, 0, static_cast<B>(pivot - 1), Pivots::sample);
  quicksort.sort(data + below, n - below, pivot, static_cast<B>(~B{0}), Pivots::sample);
}

template <class B>
void sort_few(const B* from, B* to, index_t n, Bounds<B> bounds, const KeyMap<B>& map) {
  if (n > 0) sort_network(from, to, n, bounds, map, Map<B>(map));
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
    const auto scaled = _mm512_or_si512(L::shift_right(above, to_right),
                                        L::shift_left(above, L::sub(L::all(0), to_right)));
    // Where nothing is shifted both are the number itself.
    return L::add(L::shift_left(L::sub(L::all(width - log_least), zeros), unsigned{log_bits}),
                  scaled);
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

/// bucket[0:n] from places and the table of a division. Plain loads: the gather instruction takes
/// longer.
void look_up_buckets(const std::uint32_t* table, const std::uint32_t* place, index_t n,
                     std::uint16_t* bucket) {
  for (index_t i = 0; i < n; ++i) {
    const std::uint32_t entry = table[place[i] >> 16];
    bucket[i] = static_cast<std::uint16_t>((entry >> 16) +
                                           (((place[i] & 0xffff) * (entry & 0xffff)) >> 16));
  }
}

/// bucket_of_value of eight doubles. The minimum of a NaN and a number is its second operand.
class ByValue {
 public:
  explicit ByValue(const Division<std::uint64_t>& division)
      : origin_(_mm512_set1_pd(division.origin)),
        per_unit_(_mm512_set1_pd(division.per_unit)),
        last_(_mm512_set1_pd(division.last)) {}
  explicit ByValue(const Division<std::uint32_t>&) {}

  [[nodiscard]] __m512i bucket(__m512i raw) const {
    const auto at = _mm512_mul_pd(_mm512_sub_pd(_mm512_castsi512_pd(raw), origin_), per_unit_);
    return _mm512_cvttpd_epu64(_mm512_max_pd(_mm512_min_pd(at, last_), _mm512_setzero_pd()));
  }

 private:
  __m512d origin_, per_unit_, last_;
};

enum class Places { even, linear, logarithmic, value };

template <Places kind, class B>
void classify_as(const Division<B>& division, const B* raw, index_t n, const B* ahead, B* bits,
                 std::uint16_t* bucket) {
  using L = LanesOf<B>;
  const Classifier<L> classifier(division);
  const ByValue by_value(division);
  std::uint32_t places[classify_batch];
  for (index_t i = 0; i < n; i += L::lanes) {
    const auto valid = valid_lanes<L>(n, i);
    _mm_prefetch(reinterpret_cast<const char*>(ahead + i), _MM_HINT_T0);
    const auto loaded = L::load(raw + i, valid);
    const auto mapped = classifier.bits(loaded);
    L::store(bits + i, valid, mapped);
    if constexpr (kind == Places::value)
      L::store_u16(bucket + i, valid, by_value.bucket(loaded));
    else if constexpr (kind == Places::even)
      L::store_u16(bucket + i, valid, classifier.even_bucket(classifier.place(mapped)));
    else if constexpr (kind == Places::linear)
      L::store_u32(places + i, classifier.place(mapped));
    else
      L::store_u32(places + i, classifier.log_place(mapped));
  }
  if constexpr (kind == Places::linear || kind == Places::logarithmic)
    look_up_buckets(division.table, places, n, bucket);
}

template <class B>
void classify(const Division<B>& division, const B* raw, index_t n, const B* ahead, B* bits,
              std::uint16_t* bucket) {
  if constexpr (sizeof(B) == sizeof(double)) {
    if (division.by_value) return classify_as<Places::value>(division, raw, n, ahead, bits, bucket);
  }
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
    classify<std::uint32_t>,     copy_past_cache,         survey<std::uint32_t>,
    quicksort<std::uint32_t>,    merge<std::uint32_t>};
const LeafKernels<std::uint64_t> leaf_kernels64{
    network_keys<std::uint64_t>, sort_few<std::uint64_t>, sort_many<std::uint64_t>,
    classify<std::uint64_t>,     copy_past_cache,         survey<std::uint64_t>,
    quicksort<std::uint64_t>,    merge<std::uint64_t>};

}  // namespace tessera::sort::avx512
