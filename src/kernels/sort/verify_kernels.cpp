// Hash and order of keys in one pass, compiled once for each instruction set: plain loops that compilers turn
// into vectors. base/hash.hpp and the map of keys are written out here, as their inline functions must not be
// emitted from this file.

#include "kernels/sort/verify_kernels.hpp"

namespace tessera::sort::TESSERA_ISA {
namespace {

[[gnu::always_inline]] inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class B>
std::uint64_t hash(const B* raw, index_t n, std::uint64_t seed) {
  std::uint64_t sum = 0;
  for (index_t i = 0; i < n; ++i) sum += mix(raw[i] ^ seed);
  return sum;
}

/// KeyMap::to_bits of keys of this form.
template <class B, bool flips, bool mirrors>
[[gnu::always_inline]] inline B bits_of(B raw, const KeyMap<B>& map) {
  if constexpr (flips) {
    const B negative = static_cast<B>(B{0} - (raw >> (8 * sizeof(B) - 1)));
    raw = static_cast<B>((raw ^ map.flip ^ (negative & map.spread)) - map.offset);
  }
  if constexpr (mirrors) raw = raw <= map.top ? static_cast<B>(map.top - raw) : raw;
  return raw;
}

template <class B, bool flips, bool mirrors>
Looked look_as(const B* raw, index_t n, B before, const KeyMap<B>& map, std::uint64_t seed) {
  if (n == 0) return {};
  std::uint64_t sum = mix(raw[0] ^ seed);
  std::uint64_t descents = bits_of<B, flips, mirrors>(raw[0], map) < bits_of<B, flips, mirrors>(before, map);
  for (index_t i = 1; i < n; ++i) {
    sum += mix(raw[i] ^ seed);
    descents += bits_of<B, flips, mirrors>(raw[i], map) < bits_of<B, flips, mirrors>(raw[i - 1], map) ? 1 : 0;
  }
  return {sum, static_cast<index_t>(descents)};
}

template <class B>
Looked look(const B* raw, index_t n, B before, const KeyMap<B>& map, std::uint64_t seed) {
  const bool flips = (map.flip | map.spread | map.offset) != 0;
  if (map.mirrored != 0)
    return flips ? look_as<B, true, true>(raw, n, before, map, seed)
                 : look_as<B, false, true>(raw, n, before, map, seed);
  return flips ? look_as<B, true, false>(raw, n, before, map, seed)
               : look_as<B, false, false>(raw, n, before, map, seed);
}

}  // namespace

std::uint64_t hash_keys32(const std::uint32_t* raw, index_t n, std::uint64_t seed) {
  return hash(raw, n, seed);
}
std::uint64_t hash_keys64(const std::uint64_t* raw, index_t n, std::uint64_t seed) {
  return hash(raw, n, seed);
}
Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,
                      const KeyMap<std::uint32_t>& map, std::uint64_t seed) {
  return look(raw, n, before, map, seed);
}
Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,
                      const KeyMap<std::uint64_t>& map, std::uint64_t seed) {
  return look(raw, n, before, map, seed);
}

}  // namespace tessera::sort::TESSERA_ISA
