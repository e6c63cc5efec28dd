// Hash and order of keys in one pass, compiled once for each instruction set: plain loops that compilers turn
// into vectors. The map of keys is written out here, as its inline functions must not be emitted from this
// file.

#include "kernels/sort/verify_kernels.hpp"

namespace tessera::sort::TESSERA_ISA {
namespace {

constexpr index_t block = 256;  // keys that stay in the first-level cache

/// Calls keys into the cache that come after raw[0:n] in a while: the hardware alone reads at two thirds of
/// the speed.
template <class B>
void call_ahead(const B* raw, index_t n) {
  constexpr index_t line = 64 / sizeof(B), ahead = 8192 / sizeof(B);
  for (index_t i = 0; i < n; i += line) __builtin_prefetch(raw + ahead + i);
}

/// The keys from raw[0] on that are looked at together, at most n: `most`, but the first ones up to a whole
/// line of the cache, so that vectors do not lie across two.
template <class B>
index_t at_once(const B* raw, index_t n, index_t most) {
  constexpr index_t line = 64 / sizeof(B);
  const auto over = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(raw) % 64 / sizeof(B));
  const index_t here = over == 0 ? most : line - over;
  return here < n ? here : n;
}

/// The hash of raw[0:n] and whether wrong(raw[i], before[i]) is true nowhere. The hash: the product of
/// the halves of a mixed word, that is of the key's halves folded, multiplied and folded again.
template <class Wrong>
Looked look_block(const std::uint64_t* raw, const std::uint64_t* before, index_t n, const Salt& salt,
                  const Wrong& wrong) {
  const std::uint64_t flip = salt.flip, factor = salt.factor;
  std::uint64_t sum = 0, any = 0;
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t mixed = (raw[i] ^ (raw[i] >> 32) ^ flip) * factor;
    const std::uint64_t high = mixed >> 32;
    sum += ((mixed ^ high) & 0xffffffff) * high;
    any |= wrong(raw[i], before[i]) ? 1U : 0U;
  }
  return {sum, any == 0};
}

/// The square of a word mixed in that way. Two loops: words of 32 bits first, then their squares of 64.
template <class Wrong>
Looked look_block(const std::uint32_t* raw, const std::uint32_t* before, index_t n, const Salt& salt,
                  const Wrong& wrong) {
  const auto flip = static_cast<std::uint32_t>(salt.flip), factor = static_cast<std::uint32_t>(salt.factor);
  alignas(64) std::uint32_t mixed[block];
  std::uint32_t any = 0;
  for (index_t i = 0; i < n; ++i) {
    const std::uint32_t word = (raw[i] ^ (raw[i] >> 16) ^ flip) * factor;
    mixed[i] = word ^ (word >> 16);
    any |= wrong(raw[i], before[i]) ? 1U : 0U;
  }
  if (n % 2 != 0) mixed[n] = 0;
  std::uint64_t low = 0, high = 0;
  for (index_t i = 0; i < (n + 1) / 2; ++i) {
    std::uint64_t two;
    __builtin_memcpy(&two, mixed + 2 * i, 8);
    low += (two & 0xffffffff) * (two & 0xffffffff);
    high += (two >> 32) * (two >> 32);
  }
  return {low + high, any == 0};
}

template <class B>
std::uint64_t hash_block(const B* raw, index_t n, const Salt& salt) {
  return look_block(raw, raw, n, salt, [](B, B) { return false; }).hash;
}

template <class B>
std::uint64_t hash(const B* raw, index_t n, const Salt& salt) {
  std::uint64_t sum = 0;
  for (index_t i = 0, here = 0; i < n; i += here) {
    here = at_once(raw + i, n - i, block);
    sum += hash_block(raw + i, here, salt);
  }
  return sum;
}

/// KeyMap::to_bits.
template <class B>
[[gnu::always_inline]] inline B bits_of(B raw, const KeyMap<B>& map) {
  const B negative = static_cast<B>(B{0} - (raw >> (8 * sizeof(B) - 1)));
  const B bits = static_cast<B>((raw ^ map.flip ^ (negative & map.spread)) - map.offset);
  return map.mirrored != 0 && bits <= map.top ? static_cast<B>(map.top - bits) : bits;
}

enum class Course { up, down, mixed };

/// How raw keys must go between these two, all of one sign and none of them a NaN, for their bits to go up.
template <class B>
Course course_between(B first, B last, const KeyMap<B>& map) {
  const int sign_bit = 8 * sizeof(B) - 1;
  const bool is_float = map.spread != 0;
  if (map.flip != 0 && ((first ^ last) >> sign_bit) != 0) return Course::mixed;
  const B infinity = static_cast<B>(~map.offset & map.spread);  // of floats
  if (is_float && ((first & map.spread) > infinity || (last & map.spread) > infinity)) return Course::mixed;
  const bool turned = is_float && first >> sign_bit != 0;
  return turned != (map.mirrored != 0) ? Course::down : Course::up;
}

/// f(wrong) where wrong(key, before) tells of raw[0:n], n > 0, whether bits go down (descending: up); raw[-1]
/// is another key. Between keys of one course raw ones are in order exactly where bits are: none in order
/// lies beyond the ends.
template <Order order = Order::ascending, class B, class F>
auto with_order(const B* raw, index_t n, const KeyMap<B>& map, const F& f) {
  constexpr bool ascending = order == Order::ascending;
  const B first = raw[-1], last = raw[n - 1];
  if (first == last) return f([first](B key, B) { return key != first; });
  const Course course = course_between(first, last, map);
  if (course == Course::mixed) {
    return f([&map](B key, B before) {
      return ascending ? bits_of(key, map) < bits_of(before, map) : bits_of(key, map) > bits_of(before, map);
    });
  }
  if ((course == Course::up) == ascending) return f([](B key, B before) { return key < before; });
  return f([](B key, B before) { return key > before; });
}

/// raw[-1] is another key.
template <Order order, class B>
[[gnu::always_inline]] inline bool in_order(const B* raw, index_t n, const KeyMap<B>& map) {
  call_ahead(raw, n);
  return with_order<order>(raw, n, map, [=](const auto& wrong) {
    B any = 0;
    for (index_t i = 0; i < n; ++i) any |= wrong(raw[i], raw[i - 1]) ? B{1} : B{0};
    return any == 0;
  });
}

template <Order order, class B>
bool keys_in_order(const B* raw, index_t n, const KeyMap<B>& map) {
  constexpr index_t few = 512 / sizeof(B);  // eight lines, for which the loop needs no end
  for (index_t i = 1, here = 0; i < n; i += here) {
    here = at_once(raw + i, n - i, few);
    if (!(here == few ? in_order<order>(raw + i, few, map) : in_order<order>(raw + i, here, map)))
      return false;
  }
  return true;
}
template <class B>
bool keys_in_order(const B* raw, index_t n, const KeyMap<B>& map, Order order) {
  return order == Order::ascending ? keys_in_order<Order::ascending>(raw, n, map)
                                   : keys_in_order<Order::descending>(raw, n, map);
}

/// pairs[-1] is another one.
template <Order order>
[[gnu::always_inline]] inline bool pairs_in_order(const Pair* pairs, index_t n) {
  call_ahead(&pairs->key, 2 * n);
  std::uint64_t any = 0;
  for (index_t i = 0; i < n; ++i) {
    const Pair &low = pairs[order == Order::ascending ? i - 1 : i],
               &high = pairs[order == Order::ascending ? i : i - 1];
    any |= (high.key < low.key) | ((high.key == low.key) & (high.index < low.index)) ? 1U : 0U;
  }
  return any == 0;
}
template <Order order>
bool all_pairs_in_order(const Pair* pairs, index_t n) {
  constexpr index_t few = 64;
  for (index_t i = 1; i < n; i += few) {
    if (!(n - i >= few ? pairs_in_order<order>(pairs + i, few) : pairs_in_order<order>(pairs + i, n - i)))
      return false;
  }
  return true;
}

template <class B>
Looked look(const B* raw, index_t n, B before, const KeyMap<B>& map, const Salt& salt) {
  if (n == 0) return {};
  Looked seen{hash_block(raw, 1, salt), bits_of(raw[0], map) >= bits_of(before, map)};
  for (index_t i = 1, here = 0; i < n; i += here) {
    here = at_once(raw + i, n - i, block);
    call_ahead(raw + i, here);
    const Looked its = with_order(raw + i, here, map, [&](const auto& wrong) {
      return look_block(raw + i, raw + i - 1, here, salt, wrong);
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
bool keys_in_order32(const std::uint32_t* raw, index_t n, const KeyMap<std::uint32_t>& map, Order order) {
  return keys_in_order(raw, n, map, order);
}
bool keys_in_order64(const std::uint64_t* raw, index_t n, const KeyMap<std::uint64_t>& map, Order order) {
  return keys_in_order(raw, n, map, order);
}
bool pairs_in_order(const Pair* pairs, index_t n, Order order) {
  return order == Order::ascending ? all_pairs_in_order<Order::ascending>(pairs, n)
                                   : all_pairs_in_order<Order::descending>(pairs, n);
}
Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,
                      const KeyMap<std::uint32_t>& map, const Salt& salt) {
  return look(raw, n, before, map, salt);
}
Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,
                      const KeyMap<std::uint64_t>& map, const Salt& salt) {
  return look(raw, n, before, map, salt);
}

}  // namespace tessera::sort::TESSERA_ISA
