// Hash and order of keys in one pass, compiled once for each instruction set: plain loops that compilers turn
// into vectors. The map of keys is written out here, as its inline functions must not be emitted from this
// file.

#include "kernels/sort/verify_kernels.hpp"

namespace tessera::sort::TESSERA_ISA {
namespace {

constexpr index_t block = 512;  // keys that stay in the first-level cache

/// The product of the halves of a mixed word: of the key's halves folded, multiplied and folded again.
std::uint64_t hash_block(const std::uint64_t* raw, index_t n, const Salt& salt) {
  const std::uint64_t flip = salt.flip, factor = salt.factor;
  std::uint64_t sum = 0;
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t mixed = (raw[i] ^ (raw[i] >> 32) ^ flip) * factor;
    const std::uint64_t high = mixed >> 32;
    sum += ((mixed ^ high) & 0xffffffff) * high;
  }
  return sum;
}

/// The square of a word mixed in that way. Two loops: words of 32 bits first, then their squares of 64.
std::uint64_t hash_block(const std::uint32_t* raw, index_t n, const Salt& salt) {
  const auto flip = static_cast<std::uint32_t>(salt.flip), factor = static_cast<std::uint32_t>(salt.factor);
  alignas(64) std::uint32_t mixed[block];
  for (index_t i = 0; i < n; ++i) {
    const std::uint32_t word = (raw[i] ^ (raw[i] >> 16) ^ flip) * factor;
    mixed[i] = word ^ (word >> 16);
  }
  if (n % 2 != 0) mixed[n] = 0;
  std::uint64_t low = 0, high = 0;
  for (index_t i = 0; i < (n + 1) / 2; ++i) {
    std::uint64_t two;
    __builtin_memcpy(&two, mixed + 2 * i, 8);
    low += (two & 0xffffffff) * (two & 0xffffffff);
    high += (two >> 32) * (two >> 32);
  }
  return low + high;
}

template <class B>
std::uint64_t hash(const B* raw, index_t n, const Salt& salt) {
  std::uint64_t sum = 0;
  for (index_t i = 0; i < n; i += block) sum += hash_block(raw + i, n - i < block ? n - i : block, salt);
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

/// Whether the bits never go down through raw[0:n], n > 0; raw[-1] is another key. Between keys of one course
/// raw ones are in order exactly where bits are: none in order lies beyond the ends.
template <class B>
bool ascends(const B* raw, index_t n, const KeyMap<B>& map) {
  B wrong = 0;
  switch (course_between(raw[-1], raw[n - 1], map)) {
    case Course::up:
      for (index_t i = 0; i < n; ++i) wrong |= raw[i] < raw[i - 1] ? B{1} : B{0};
      break;
    case Course::down:
      for (index_t i = 0; i < n; ++i) wrong |= raw[i] > raw[i - 1] ? B{1} : B{0};
      break;
    case Course::mixed:
      for (index_t i = 0; i < n; ++i) wrong |= bits_of(raw[i], map) < bits_of(raw[i - 1], map) ? B{1} : B{0};
      break;
  }
  return wrong == 0;
}

template <class B>
bool keys_ascend(const B* raw, index_t n, const KeyMap<B>& map) {
  constexpr index_t at_once = 8 * block;
  for (index_t i = 1; i < n; i += at_once) {
    if (!ascends(raw + i, n - i < at_once ? n - i : at_once, map)) return false;
  }
  return true;
}

template <class B>
Looked look(const B* raw, index_t n, B before, const KeyMap<B>& map, const Salt& salt) {
  if (n == 0) return {};
  Looked seen{hash_block(raw, 1, salt), bits_of(raw[0], map) >= bits_of(before, map)};
  for (index_t i = 1; i < n; i += block) {
    const index_t here = n - i < block ? n - i : block;
    seen.hash += hash_block(raw + i, here, salt);
    seen.sorted = ascends(raw + i, here, map) && seen.sorted;
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
bool keys_ascend32(const std::uint32_t* raw, index_t n, const KeyMap<std::uint32_t>& map) {
  return keys_ascend(raw, n, map);
}
bool keys_ascend64(const std::uint64_t* raw, index_t n, const KeyMap<std::uint64_t>& map) {
  return keys_ascend(raw, n, map);
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
