// Hash and order of keys in one pass, compiled once per instruction set: compiler vectors, with
// every line read once. The map of keys is repeated here, because its inline functions must not be
// emitted from this file.

#include "base/simd/shuffle.hpp"
#include "kernels/sort/verify_vectors.hpp"

namespace tessera::inline v1::sort::TESSERA_ISA {
namespace {

constexpr index_t block_bytes = 4096;  // checked together, in one course

template <class B>
constexpr index_t line = 64 / static_cast<index_t>(sizeof(B));  // keys of a cache line
/// The prefetch distance in keys: the hardware prefetcher alone is slower from memory.
template <class B>
constexpr index_t ahead = 8192 / static_cast<index_t>(sizeof(B));

template <class B>
[[gnu::always_inline]] inline Vector<B> load(const B* keys) {
  return simd::load<Vector<B>>(keys);
}

/// Returns `key` shifted up by `distance` lanes, with the last lanes of `before` first.
template <int distance, class V>
[[gnu::always_inline]] inline V shifted(const V& before, const V& key) {
  return simd::shift<simd::lanes_of<V> - distance>(before, key);
}

/// Returns how many keys from raw[0] on are processed together, at most n: first up to a cache line
/// boundary, then as many as a block has.
template <class B>
[[gnu::always_inline]] inline index_t at_once(const B* raw, index_t n) {
  constexpr index_t most = block_bytes / sizeof(B);
  const auto over = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(raw) % 64 / sizeof(B));
  const index_t here = over == 0 ? most : line<B> - over;
  return here < n ? here : n;
}

/// The sum of the hashes of 32-bit keys: the square of a word mixed likewise.
template <>
class Hash<std::uint32_t> {
 public:
  explicit Hash(const Salt& salt)
      : flip_(static_cast<std::uint32_t>(salt.flip)),
        factor_(static_cast<std::uint32_t>(salt.factor)) {}
  [[gnu::always_inline]] void add(std::uint32_t raw) {
    const std::uint64_t word = mixed(raw);
    one_ += word * word;
  }
  [[gnu::always_inline]] void add(const Vector<std::uint32_t>& raw) {
    const auto low = reinterpret_cast<Vector64>(mixed(raw)), high = low >> 32;
    many_ += simd::mul_low_halves(low, low) + simd::mul_low_halves(high, high);
  }
  [[nodiscard]] std::uint64_t sum() const { return one_ + simd::sum(many_); }

 private:
  template <class Keys>
  [[gnu::always_inline]] Keys mixed(const Keys& raw) const {
    const Keys word = (raw ^ (raw >> 16) ^ flip_) * factor_;
    return word ^ (word >> 16);
  }
  std::uint32_t flip_, factor_;
  std::uint64_t one_ = 0;
  Vector64 many_{};
};

struct NoHash {
  template <class Keys>
  [[gnu::always_inline]] void add(const Keys&) {}
  [[nodiscard]] static std::uint64_t sum() { return 0; }
};

/// Returns the hash of raw[0:n], and whether wrong(key, before) is zero throughout; `before` is the
/// key before raw[0].
template <class B, class Wrong, class Sum>
[[gnu::always_inline]] inline Looked look_block(const B* raw, index_t n, B before,
                                                const Wrong& wrong, Sum hash) {
  index_t i = 0;
  bool seen = false;
  if (reinterpret_cast<std::uintptr_t>(raw) % 64 == 0 && n >= line<B>) {
    Vector<B> befores = Vector<B>{} + before, wrongs{};
    for (; i + line<B> <= n; i += line<B>) {
      __builtin_prefetch(raw + i + ahead<B>);
      for (index_t v = 0; v < line<B>; v += lanes<B>) {
        const Vector<B> keys = load(raw + i + v);
        wrongs |= wrong(keys, shifted<1>(befores, keys));
        hash.add(keys);
        befores = keys;
      }
    }
    seen = simd::any(wrongs);
    before = raw[i - 1];
  }
  for (; i < n; ++i) {
    seen |= wrong(raw[i], before) != 0;
    hash.add(raw[i]);
    before = raw[i];
  }
  return {hash.sum(), !seen};
}

template <class B>
std::uint64_t hash(const B* raw, index_t n, const Salt& salt) {
  const auto none_wrong = [](const auto& key, const auto&) { return key ^ key; };
  std::uint64_t sum = 0;
  for (index_t i = 0, here = 0; i < n; i += here) {
    here = at_once(raw + i, n - i);
    sum += look_block(raw + i, here, raw[i], none_wrong, Hash<B>(salt)).hash;
  }
  return sum;
}

/// Returns nonzero lanes where a is below b.
template <class Keys>
[[gnu::always_inline]] inline Keys below(const Keys& a, const Keys& b) {
  return a ^ (a < b ? b : a);
}

enum class Course { up, down, mixed };

/// Returns the direction in which raw keys between these two, all of one sign and none a NaN, must
/// run for their bits to ascend.
template <class B>
Course course_between(B first, B last, const KeyMap<B>& map) {
  const int sign_bit = 8 * sizeof(B) - 1;
  const bool is_float = map.spread != 0;
  if (map.flip != 0 && ((first ^ last) >> sign_bit) != 0) return Course::mixed;
  const B infinity = static_cast<B>(~map.offset & map.spread);  // of floats
  if (is_float && ((first & map.spread) > infinity || (last & map.spread) > infinity))
    return Course::mixed;
  const bool turned = is_float && first >> sign_bit != 0;
  return turned != (map.mirrored != 0) ? Course::down : Course::up;
}

/// Calls f(wrong), where wrong(key, before) is nonzero for a key or some lane of raw[0:n], n > 0,
/// if bits descend (descending: ascend); raw[-1] is another key. Between keys of one course, raw
/// keys are in order exactly if bits are: ordered keys do not exceed the ends.
template <Order order = Order::ascending, class B, class F>
[[gnu::always_inline]] inline auto with_order(const B* raw, index_t n, const KeyMap<B>& map,
                                              const F& f) {
  constexpr bool ascending = order == Order::ascending;
  const B first = raw[-1], last = raw[n - 1];
  if (first == last) return f([first](const auto& key, const auto&) { return key ^ first; });
  const Course course = course_between(first, last, map);
  if (course == Course::mixed) {
    return f([&map](const auto& key, const auto& before) {
      const auto bits = bits_of(key, map), bits_before = bits_of(before, map);
      return ascending ? below(bits, bits_before) : below(bits_before, bits);
    });
  }
  if ((course == Course::up) == ascending)
    return f([](const auto& key, const auto& before) { return below(key, before); });
  return f([](const auto& key, const auto& before) { return below(before, key); });
}

/// Returns how many of raw[0:n], in stretches of eight lines, equal `key`, at memory bandwidth.
template <class B>
index_t equal_keys(const B* raw, index_t n, B key) {
  constexpr index_t some = 8 * line<B>;
  index_t i = 0;
  for (; i + some <= n; i += some) {
    Vector<B> others[4]{};
    for (index_t v = 0; v < some / lanes<B>; ++v)
      others[v / 2 % 4] |= load(raw + i + v * lanes<B>) ^ key;
    if (simd::any((others[0] | others[1]) | (others[2] | others[3]))) break;
  }
  return i;
}

template <Order order, class B>
bool keys_in_order(const B* raw, index_t n, const KeyMap<B>& map) {
  for (index_t i = 1, here = 0; i < n; i += here) {
    if (reinterpret_cast<std::uintptr_t>(raw + i) % 64 == 0)
      i += equal_keys(raw + i, n - i, raw[i - 1]);
    here = at_once(raw + i, n - i);
    const bool seen = with_order<order>(raw + i, here, map, [&](const auto& wrong) {
      return look_block(raw + i, here, raw[i - 1], wrong, NoHash()).sorted;
    });
    if (!seen) return false;
  }
  return true;
}
template <class B>
bool keys_in_order(const B* raw, index_t n, const KeyMap<B>& map, Order order) {
  return is_descending(order) ? keys_in_order<Order::descending>(raw, n, map)
                              : keys_in_order<Order::ascending>(raw, n, map);
}

/// Compares pairs as alternating words of keys and indices: a word of a key is nonzero if its pair
/// is below that of `before`; words of indices are undefined.
[[gnu::always_inline]] inline Vector64 pairs_below(const Vector64& pairs, const Vector64& before) {
  const auto less = reinterpret_cast<Vector64>(pairs < before);
  const auto of_index = simd::exchange<1>(less);
  return less | (reinterpret_cast<Vector64>(pairs == before) & of_index);
}
[[gnu::always_inline]] inline bool pair_below(const Pair& a, const Pair& b) {
  return (a.key < b.key) | ((a.key == b.key) & (a.index < b.index));
}

/// Returns whether n pairs from the beginning of a line on are in order; pairs[-1] is another pair.
template <Order order>
[[gnu::always_inline]] inline bool lines_in_order(const Pair* pairs, index_t n) {
  constexpr int words = lanes<std::uint64_t>;
  Vector64 wrongs{}, of_keys{};
  for (int i = 0; i < words; i += 2) of_keys[i] = ~std::uint64_t{0};
  const std::uint64_t* const raw = &pairs->key;
  Vector64 befores{};
  befores[words - 2] = pairs[-1].key;
  befores[words - 1] = pairs[-1].index;
  for (index_t i = 0; i < 2 * n; i += words) {
    if (i % line<std::uint64_t> == 0) __builtin_prefetch(raw + i + ahead<std::uint64_t>);
    const Vector64 here = load(raw + i), before = shifted<2>(befores, here);
    wrongs |= order == Order::ascending ? pairs_below(here, before) : pairs_below(before, here);
    befores = here;
  }
  return !simd::any(wrongs & of_keys);
}
template <Order order>
bool all_pairs_in_order(const Pair* pairs, index_t n) {
  constexpr index_t a_line = 4, some = block_bytes / 16;
  for (index_t i = 1, here = 1; i < n; i += here) {
    here = 1;
    if (reinterpret_cast<std::uintptr_t>(pairs + i) % 64 == 0 && n - i >= a_line) {
      here = n - i < some ? (n - i) / a_line * a_line : some;
      if (!lines_in_order<order>(pairs + i, here)) return false;
    } else if (order == Order::ascending ? pair_below(pairs[i], pairs[i - 1])
                                         : pair_below(pairs[i - 1], pairs[i])) {
      return false;
    }
  }
  return true;
}

template <class B>
Looked look(const B* raw, index_t n, B before, const KeyMap<B>& map, const Salt& salt) {
  if (n == 0) return {};
  Looked seen{hash(raw, 1, salt), bits_of(raw[0], map) >= bits_of(before, map)};
  for (index_t i = 1, here = 0; i < n; i += here) {
    here = at_once(raw + i, n - i);
    const Looked its = with_order(raw + i, here, map, [&](const auto& wrong) {
      return look_block(raw + i, here, raw[i - 1], wrong, Hash<B>(salt));
    });
    seen.hash += its.hash;
    seen.sorted = its.sorted && seen.sorted;
  }
  return seen;
}

}  // namespace

std::uint64_t hash_keys32(const std::uint32_t* raw, index_t n, const Salt& salt) {
  return hash(raw, n, salt);
}
std::uint64_t hash_keys64(const std::uint64_t* raw, index_t n, const Salt& salt) {
  return hash(raw, n, salt);
}
bool keys_in_order32(const std::uint32_t* raw, index_t n, const KeyMap<std::uint32_t>& map,
                     Order order) {
  return keys_in_order(raw, n, map, order);
}
bool keys_in_order64(const std::uint64_t* raw, index_t n, const KeyMap<std::uint64_t>& map,
                     Order order) {
  return keys_in_order(raw, n, map, order);
}
bool pairs_in_order(const Pair* pairs, index_t n, Order order) {
  return is_descending(order) ? all_pairs_in_order<Order::descending>(pairs, n)
                              : all_pairs_in_order<Order::ascending>(pairs, n);
}
Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,
                      const KeyMap<std::uint32_t>& map, const Salt& salt) {
  return look(raw, n, before, map, salt);
}
Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,
                      const KeyMap<std::uint64_t>& map, const Salt& salt) {
  return look(raw, n, before, map, salt);
}

}  // namespace tessera::inline v1::sort::TESSERA_ISA
