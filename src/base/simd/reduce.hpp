#pragma once
// Reductions of vectors to one value.

#include "base/simd/shuffle.hpp"

namespace tessera::inline v1::simd {
namespace {

/// Returns the sum of all lanes, added in the order of the lanes.
template <class V>
TESSERA_INLINE Element<V> sum(V v) {
  Element<V> sum = 0;
  for (int i = 0; i < lanes_of<V>; ++i) sum += v[i];
  return sum;
}

template <int step, class V, class Op>
TESSERA_INLINE V folded(V v, const Op& op) {
  if constexpr (step == 0)
    return v;
  else
    return folded<step / 2>(op(v, exchange<step>(v)), op);
}
/// Reduces all lanes by op, which combines two vectors lane by lane and must be associative and
/// commutative.
template <class V, class Op>
TESSERA_INLINE Element<V> reduce(V v, const Op& op) {
  return folded<lanes_of<V> / 2>(v, op)[0];
}

/// Returns a word whose bit i is the comparison of lane i of a and b, as unsigned 64-bit words.
TESSERA_INLINE unsigned less_bits(Vector<std::uint64_t> a, Vector<std::uint64_t> b) {
#if defined(__AVX512F__)
  return _mm512_cmplt_epu64_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(a < b)));
#else
  unsigned bits = 0;
  for (int i = 0; i < lanes_of<decltype(a)>; ++i) bits |= unsigned{a[i] < b[i]} << i;
  return bits;
#endif
}
TESSERA_INLINE unsigned equal_bits(Vector<std::uint64_t> a, Vector<std::uint64_t> b) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi64_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(a == b)));
#else
  unsigned bits = 0;
  for (int i = 0; i < lanes_of<decltype(a)>; ++i) bits |= unsigned{a[i] == b[i]} << i;
  return bits;
#endif
}

/// Returns whether any bit is set.
template <class V>
TESSERA_INLINE bool any(V v) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v)) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(reinterpret_cast<__m256i>(v), reinterpret_cast<__m256i>(v)) == 0;
#else
  const auto words = bits_as<std::uint64_t>(v);
  std::uint64_t bits = 0;
  for (int i = 0; i < lanes_of<decltype(words)>; ++i) bits |= words[i];
  return bits != 0;
#endif
}

}  // namespace
}  // namespace tessera::inline v1::simd
