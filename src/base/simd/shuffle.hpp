#pragma once
// Permutations of lanes.

#include <utility>

#include "base/simd/vector.hpp"

namespace tessera::inline v1::simd {
namespace {

template <class V, class Place, int... i>
TESSERA_INLINE V shuffled(V a, V b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, Place{}(i)...);
}
/// Returns the vector whose lane i is lane place(i) of the concatenation of a and b; place is a
/// lambda without captures.
template <class V, class Place>
TESSERA_INLINE V shuffle(V a, V b, Place) {
  return shuffled<V, Place>(a, b, std::make_integer_sequence<int, lanes_of<V>>{});
}

/// Interleaves the lower halves of a and b: a0 b0 a1 b1 ...
template <class V>
TESSERA_INLINE V interleave_low(V a, V b) {
  return shuffle(a, b, [](int i) { return i / 2 + i % 2 * lanes_of<V>; });
}
/// Interleaves the upper halves of a and b.
template <class V>
TESSERA_INLINE V interleave_high(V a, V b) {
  return shuffle(a, b, [](int i) { return lanes_of<V> / 2 + i / 2 + i % 2 * lanes_of<V>; });
}
/// Returns the even lanes of a, then those of b.
template <class V>
TESSERA_INLINE V evens(V a, V b) {
  return shuffle(a, b, [](int i) { return 2 * i; });
}
/// Returns the odd lanes of a, then those of b.
template <class V>
TESSERA_INLINE V odds(V a, V b) {
  return shuffle(a, b, [](int i) { return 2 * i + 1; });
}

/// Returns the vector whose lane i is lane i ^ flips of v.
template <int flips, class V>
TESSERA_INLINE V exchange(V v) {
  return shuffle(v, v, [](int i) { return i ^ flips; });
}

#if defined(__AVX512F__)
/// Returns the vector whose lane i is lane places[i], modulo the number of lanes, of v.
template <class V>
TESSERA_INLINE V lookup(V v, V places) {
  const auto x = reinterpret_cast<__m512i>(v), at = reinterpret_cast<__m512i>(places);
  if constexpr (sizeof(Element<V>) == 4)
    return reinterpret_cast<V>(_mm512_maskz_permutexvar_epi32(0xffff, at, x));
  else
    return reinterpret_cast<V>(_mm512_maskz_permutexvar_epi64(0xff, at, x));
}
#endif

/// Returns lanes k, k + 1, ... of a, then the first k lanes of b.
template <int k, class V>
TESSERA_INLINE V shift(V a, V b) {
#if defined(__AVX512F__)  // one instruction, where the compiler would load a vector of indices
  const auto low = reinterpret_cast<__m512i>(a), high = reinterpret_cast<__m512i>(b);
  if constexpr (sizeof(Element<V>) == 8)
    return reinterpret_cast<V>(_mm512_maskz_alignr_epi64(0xff, high, low, k));
  if constexpr (sizeof(Element<V>) == 4)
    return reinterpret_cast<V>(_mm512_maskz_alignr_epi32(0xffff, high, low, k));
#endif
  return shuffle(a, b, [](int i) { return i + k; });
}

/// shift() by a distance in bytes, a multiple of 4, that is known only at run time.
class Shift {
  using V = Vector<std::uint64_t>;

 public:
#if defined(__AVX512F__)
  static constexpr bool is_one_instruction = true;
  explicit Shift(index_t bytes)
      : places_(reinterpret_cast<__m512i>(
            static_cast<int>(bytes / 4) +
            Vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})) {}
  template <class Any>
  [[nodiscard]] Any operator()(Any a, Any b) const {
    return reinterpret_cast<Any>(_mm512_permutex2var_epi32(reinterpret_cast<__m512i>(a), places_,
                                                           reinterpret_cast<__m512i>(b)));
  }

 private:
  __m512i places_;
#else
  static constexpr bool is_one_instruction = false;
  explicit Shift(index_t bytes) : bytes_(bytes) {}
  template <class Any>
  [[nodiscard]] Any operator()(Any a, Any b) const {
    const Any both[]{a, b};
    return load<Any>(reinterpret_cast<const std::byte*>(both) + bytes_);
  }

 private:
  index_t bytes_;
#endif
};

}  // namespace
}  // namespace tessera::inline v1::simd
