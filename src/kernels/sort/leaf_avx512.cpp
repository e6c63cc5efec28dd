// Quicksort in AVX-512, in place. A vector of keys is partitioned by one or two permutations and
// stored whole at both ends; parts of at most sixteen registers are sorted by networks.

#include "kernels/sort/leaf.hpp"

#include "kernels/sort/leaf_lanes_avx512.hpp"
#include "kernels/sort/leaf_merge_avx512.hpp"
#include "kernels/sort/leaf_network_avx512.hpp"
#include "kernels/sort/leaf_partition_avx512.hpp"

namespace tessera::inline v1::sort::avx512 {
namespace {

template <class V>
V middle(V a, V b, V c) {
  return simd::max(simd::min(a, b), simd::min(simd::max(a, b), c));
}

constexpr auto as_it_is = [](auto keys) { return keys; };

/// Returns a median of three of medians of nine, from random positions; n >= network_keys.
template <class B, class As>
B sampled_pivot(const B* keys, index_t n, std::uint64_t& state, const As& as) {
  const auto places =
      static_cast<std::uint64_t>(n - lanes<B> < 0xffffffff ? n - lanes<B> : 0xffffffff);
  Keys<B> v[9];
  for (auto& some : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    some = as(simd::load<Keys<B>>(keys + (((state >> 32) * places) >> 32)));
  }
  const auto low = middle(v[0], v[1], v[2]), high = middle(v[3], v[4], v[5]);
  const auto ninther = middle(low, high, middle(v[6], v[7], v[8]));
  const B x = ninther[0], y = ninther[lanes<B> / 2], z = ninther[lanes<B> - 1];
  const B least = x < y ? x : y, greatest = x < y ? y : x;
  return z < least ? least : (z < greatest ? z : greatest);
}

enum class Pivots { halve_range, sample };

/// A sort of parts of a block that hold bits; it writes raw keys.
template <class B>
class Quicksort {
 public:
  explicit Quicksort(const KeyMap<B>& map) : key_map_(map), map_(map) {}

  /// Sorts data[0:n], all of which are within [low, high]. Pivots halve that range until a part
  /// shows that this does not halve the keys; from there on they are sampled.
  void sort(B* data, index_t n, B low, B high, Pivots pivots) {
    while (n > network_keys<B>) {
      if (low == high) {
        fill_raw(data, n, low);
        return;
      }
      B pivot = static_cast<B>(low + (high - low) / 2 + 1);
      index_t below = pivots == Pivots::halve_range ? partition(data, n, pivot, as_it_is) : 0;
      if (below < n / 3 || n - below < n / 3) {
        pivots = Pivots::sample;
        pivot = sampled_pivot(data, n, state_, as_it_is);
        if (pivot == low) ++pivot;  // keys equal to the least are then separated
        below = partition(data, n, pivot, as_it_is);
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
    const auto raw = map_.to_raw(simd::broadcast<Keys<B>>(bits));
    for (index_t i = 0; i < n; i += lanes<B>)
      simd::store_lanes(to + i, simd::first_lanes<Keys<B>>(n - i), raw);
  }

  const KeyMap<B>& key_map_;
  Map<B> map_;
  std::uint64_t state_ = 1;
};

template <class B>
void sort_many(const Bucket<B>& bucket) {
  const auto [low, high] = bucket.bounds;
  const B pivot = static_cast<B>(low + (high - low) / 2 + (high > low ? 1 : 0));
  const index_t below = partition_pieces(bucket, bucket.to, pivot);
  const index_t above = bucket.n - below;
  Quicksort<B> quicksort(bucket.map);
  const auto pivots = below < above / 2 || above < below / 2 ? Pivots::sample : Pivots::halve_range;
  quicksort.sort(bucket.to, below, low, static_cast<B>(pivot - 1), pivots);
  quicksort.sort(bucket.to + below, above, pivot, high, pivots);
}

/// Sorts raw keys; the first partition maps them to bits.
template <class B>
void quicksort(B* data, index_t n, const KeyMap<B>& key_map) {
  const Map<B> map(key_map);
  const auto to_bits = [&](Keys<B> raw) { return map.to_bits(raw); };
  std::uint64_t state = 0;
  B pivot = sampled_pivot(data, n, state, to_bits);
  if (pivot == 0) ++pivot;
  const index_t below = partition(data, n, pivot, to_bits);
  Quicksort<B> quicksort(key_map);
  quicksort.sort(data, below, 0, static_cast<B>(pivot - 1), Pivots::sample);
  quicksort.sort(data + below, n - below, pivot, static_cast<B>(~B{0}), Pivots::sample);
}

template <class B>
void sort_few(const B* from, B* to, index_t n, Bounds<B> bounds, const KeyMap<B>& map) {
  if (n > 0) sort_network(from, to, n, bounds, map, Map<B>(map));
}

/// The classification of a vector of keys: their bits and the bucket of each lane.
template <class B>
class Classifier {
  using V = Keys<B>;

 public:
  explicit Classifier(const Division<B>& division)
      : map_(division.map),
        low_(all(division.low)),
        range_(all(division.range)),
        factor_(all(division.factor)),
        right_(division.right),
        left_(division.left) {}

  [[nodiscard]] V bits(V raw) const { return map_.to_bits(raw); }
  [[nodiscard]] V place(V bits) const {
    const V above = simd::max(bits, low_) - low_;
    return simd::min(above, range_) >> right_ << left_;
  }
  /// Returns log_place(bits - low).
  [[nodiscard]] V log_place(V bits) const {
    const V above = simd::max(bits, low_) - low_;
    const V zeros = simd::min(simd::leading_zeros(above), all(width - log_least));
    const V to_right = all(width - log_bits - 1) - zeros;
    // If nothing is shifted, both are the number itself.
    const V scaled = simd::shift_right(above, to_right) | simd::shift_left(above, V{} - to_right);
    return ((all(width - log_least) - zeros) << log_bits) + scaled;
  }
  [[nodiscard]] V even_bucket(V place) const {
    if constexpr (sizeof(B) == 8)
      return simd::mul_low_halves(place >> 12, factor_) >> 16;
    else
      return (place >> 12) * factor_ >> 16;
  }

 private:
  static constexpr B width = 8 * sizeof(B);
  static V all(B x) { return simd::broadcast<V>(x); }

  Map<B> map_;
  V low_, range_, factor_;
  int right_, left_;
};

/// Computes bucket[0:n] from places and the table of a division. Plain loads: the gather
/// instruction is slower.
void look_up_buckets(const std::uint32_t* table, const std::uint32_t* place, index_t n,
                     std::uint16_t* bucket) {
  for (index_t i = 0; i < n; ++i) {
    const std::uint32_t entry = table[place[i] >> 16];
    bucket[i] = static_cast<std::uint16_t>((entry >> 16) +
                                           (((place[i] & 0xffff) * (entry & 0xffff)) >> 16));
  }
}

/// bucket_of_value of eight doubles. The minimum of a NaN and a number is its second
/// operand.
class ByValue {
  using Bits = Keys<std::uint64_t>;
  using Doubles = simd::Vector<double>;

 public:
  explicit ByValue(const Division<std::uint64_t>& division)
      : origin_(simd::broadcast<Doubles>(division.origin)),
        per_unit_(simd::broadcast<Doubles>(division.per_unit)),
        last_(simd::broadcast<Doubles>(division.last)) {}
  explicit ByValue(const Division<std::uint32_t>&) {}

  [[nodiscard]] Bits bucket(Bits raw) const {
    const Doubles at = (simd::bits_as<double>(raw) - origin_) * per_unit_;
    return reinterpret_cast<Bits>(_mm512_cvttpd_epu64(simd::max(simd::min(at, last_), Doubles{})));
  }

 private:
  Doubles origin_, per_unit_, last_;
};

enum class Places { even, linear, logarithmic, value };

template <Places kind, class B>
void classify_as(const Division<B>& division, const B* raw, index_t n, const B* ahead, B* bits,
                 std::uint16_t* bucket) {
  using V = Keys<B>;
  const Classifier<B> classifier(division);
  const ByValue by_value(division);
  std::uint32_t places[classify_batch];
  for (index_t i = 0; i < n; i += lanes<B>) {
    const auto valid = simd::first_lanes<V>(n - i);
    __builtin_prefetch(ahead + i);
    const V loaded = load_keys(raw + i, n - i);
    const V mapped = classifier.bits(loaded);
    simd::store_lanes(bits + i, valid, mapped);
    if constexpr (kind == Places::value)
      simd::store_as_u16(bucket + i, valid, by_value.bucket(loaded));
    else if constexpr (kind == Places::even)
      simd::store_as_u16(bucket + i, valid, classifier.even_bucket(classifier.place(mapped)));
    else if constexpr (kind == Places::linear)
      simd::store_as_u32(places + i, classifier.place(mapped));
    else
      simd::store_as_u32(places + i, classifier.log_place(mapped));
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
  using V = Keys<std::uint64_t>;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
  for (index_t i = 0; i < bytes; i += 64) {
    const V v = simd::load<V>(source + i);
    if (aligned)
      simd::stream(target + i, v);
    else
      simd::store(target + i, v);
  }
}

/// The reductions of a survey, one vector of keys at a time.
template <class B>
struct Look {
  using V = Keys<B>;
  V least = ~V{}, greatest{}, any{}, every = ~V{};
  index_t descents = 0, ascents = 0;

  void operator()(simd::Mask<V> valid, V bits, V before) {
    least = simd::blend(valid, least, simd::min(least, bits));
    greatest = simd::blend(valid, greatest, simd::max(greatest, bits));
    any = simd::blend(valid, any, any | bits);
    every = simd::blend(valid, every, every & bits);
    descents += _mm_popcnt_u32(simd::less(bits, before) & valid);
    ascents += _mm_popcnt_u32(simd::less(before, bits) & valid);
  }
};

template <class B>
Survey survey(const B* raw, index_t n, B first, const KeyMap<B>& key_map) {
  using V = Keys<B>;
  const Map<B> map(key_map);
  Look<B> look;
  if (n > 0) {
    const V keys = load_keys(raw, n);
    V before = simd::shift<lanes<B> - 1>(V{}, keys);
    before[0] = first;
    look(simd::first_lanes<V>(n), map.to_bits(keys), map.to_bits(before));
  }
  index_t i = lanes<B>;
  for (; i + lanes<B> <= n; i += lanes<B>) {
    __builtin_prefetch(raw + i + 1024);
    look(simd::first_lanes<V>(lanes<B>), map.to_bits(simd::load<V>(raw + i)),
         map.to_bits(simd::load<V>(raw + i - 1)));
  }
  if (i < n)
    look(simd::first_lanes<V>(n - i), map.to_bits(load_keys(raw + i, n - i)),
         map.to_bits(load_keys(raw + i - 1, n - i)));
  return {least_key(look.least), greatest_key(look.greatest),
          simd::reduce(look.any, [](V a, V b) { return a | b; }) ^
              simd::reduce(look.every, [](V a, V b) { return a & b; }),
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

}  // namespace tessera::inline v1::sort::avx512
