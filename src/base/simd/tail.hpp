#pragma once
// Partial loads and stores: the lanes of a vector inside a row at its ends. They access no other
// memory.

#include "base/simd/vector.hpp"

namespace tessera::inline v1::simd {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
template <class V>
using Mask = std::conditional_t<lanes_of<V> <= 8, __mmask8, __mmask16>;

/// Returns the mask of lanes [from, to), of at most 16.
template <class V>
TESSERA_INLINE Mask<V> mask_between(index_t from, index_t to) {
  return static_cast<Mask<V>>((1U << to) - (1U << from));
}
#elif defined(__AVX2__)
/// Returns a vector of 4- or 8-byte lanes with all bits set in lanes [from, to).
template <class V>
TESSERA_INLINE auto mask_between(index_t from, index_t to) {
  using Int = std::conditional_t<sizeof(Element<V>) == 8, long long, int>;
  Vector<Int, sizeof(V)> lane;
  for (int i = 0; i < lanes_of<V>; ++i) lane[i] = i;
  return (lane >= static_cast<Int>(from)) & (lane < static_cast<Int>(to));
}
#endif

/// Loads elements [0, n) of `from`, with 0 in the other lanes; 0 <= n <= lanes.
template <class V>
TESSERA_INLINE V load_first(const Element<V>* from, index_t n) {
  [[maybe_unused]] constexpr auto element = sizeof(Element<V>);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const auto mask = mask_between<V>(0, n);
  if constexpr (element == 8 && sizeof(V) == 64)
    return reinterpret_cast<V>(_mm512_maskz_loadu_pd(mask, from));
  if constexpr (element == 4 && sizeof(V) == 64)
    return reinterpret_cast<V>(_mm512_maskz_loadu_ps(mask, from));
  if constexpr (element == 8 && sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_maskz_loadu_pd(mask, from));
  if constexpr (element == 4 && sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_maskz_loadu_ps(mask, from));
  if constexpr (element == 8 && sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_maskz_loadu_pd(mask, from));
  if constexpr (element == 4 && sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_maskz_loadu_ps(mask, from));
#elif defined(__AVX2__)
  const auto mask = mask_between<V>(0, n);
  const auto* const doubles = reinterpret_cast<const double*>(from);
  const auto* const floats = reinterpret_cast<const float*>(from);
  if constexpr (element == 8 && sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_maskload_pd(doubles, reinterpret_cast<__m256i>(mask)));
  if constexpr (element == 4 && sizeof(V) == 32)
    return reinterpret_cast<V>(_mm256_maskload_ps(floats, reinterpret_cast<__m256i>(mask)));
  if constexpr (element == 8 && sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_maskload_pd(doubles, reinterpret_cast<__m128i>(mask)));
  if constexpr (element == 4 && sizeof(V) == 16)
    return reinterpret_cast<V>(_mm_maskload_ps(floats, reinterpret_cast<__m128i>(mask)));
#endif
  V v{};
  for (index_t i = 0; i < n; ++i) v[i] = from[i];
  return v;
}

/// Loads the first n bytes, with 0 in the others; n is less than the size of a vector.
template <class V>
TESSERA_INLINE V load_bytes(const void* from, index_t n) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64)
    return reinterpret_cast<V>(_mm512_maskz_loadu_epi8((__mmask64{1} << n) - 1, from));
#endif
  V v{};
  __builtin_memcpy(&v, from, static_cast<std::size_t>(n));
  return v;
}

/// Stores lanes [first, last) of v to the same elements of `to`; 0 <= first <= last <= lanes.
template <class V>
TESSERA_INLINE void store_between(Element<V>* to, V v, index_t first, index_t last) {
  [[maybe_unused]] constexpr auto element = sizeof(Element<V>);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const auto mask = mask_between<V>(first, last);
  if constexpr (element == 8 && sizeof(V) == 64)
    return _mm512_mask_storeu_pd(to, mask, reinterpret_cast<__m512d>(v));
  if constexpr (element == 4 && sizeof(V) == 64)
    return _mm512_mask_storeu_ps(to, mask, reinterpret_cast<__m512>(v));
  if constexpr (element == 2 && sizeof(V) == 32)
    return _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(v));
  if constexpr (element == 8 && sizeof(V) == 16)
    return _mm_mask_storeu_pd(to, mask, reinterpret_cast<__m128d>(v));
  if constexpr (element == 4 && sizeof(V) == 16)
    return _mm_mask_storeu_ps(to, mask, reinterpret_cast<__m128>(v));
#elif defined(__AVX2__)
  if constexpr (element == 8 && sizeof(V) == 32)
    return _mm256_maskstore_pd(reinterpret_cast<double*>(to),
                               reinterpret_cast<__m256i>(mask_between<V>(first, last)),
                               reinterpret_cast<__m256d>(v));
  if constexpr (element == 4 && sizeof(V) == 32)
    return _mm256_maskstore_ps(reinterpret_cast<float*>(to),
                               reinterpret_cast<__m256i>(mask_between<V>(first, last)),
                               reinterpret_cast<__m256>(v));
#endif
  for (index_t i = first; i < last; ++i) to[i] = v[i];
}

}  // namespace
}  // namespace tessera::inline v1::simd
