#pragma once
// Vectors of 1, 2 or 4 lanes of 16 bytes: as many as the instruction set has. For files compiled per
// instruction set only; everything here has internal linkage, so that no copy compiled for one set serves
// another.

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::transpose {
namespace {

#if defined(__AVX512F__)
inline constexpr int lane_count = 4;
#elif defined(__AVX2__)
inline constexpr int lane_count = 2;
#else
inline constexpr int lane_count = 1;
#endif
inline constexpr int lane_bytes = 16;
inline constexpr int vector_bytes = lane_count * lane_bytes;

template <class Word, int Bytes>
struct VectorOf {
  typedef Word type __attribute__((vector_size(Bytes), may_alias));
};
template <class Word>
using Vector = typename VectorOf<Word, vector_bytes>::type;

template <int... K>
struct Ints {};
template <int N, int... K>
struct IntsBelow : IntsBelow<N - 1, N - 1, K...> {};
template <int... K>
struct IntsBelow<0, K...> {
  using type = Ints<K...>;
};

/// Position p of the interleaving of the lower (half 0) or upper (half 1) halves of each lane of two vectors.
template <class Word, int Half>
constexpr int interleaved(int p) {
  constexpr int words = lane_bytes / static_cast<int>(sizeof(Word));
  const int lane = p / words * words;
  const int inside = p % words;
  return lane + inside / 2 + Half * words / 2 + (inside % 2 == 0 ? 0 : lane_count * words);
}
template <class Word, int Half, int... K>
Vector<Word> interleave(Vector<Word> x, Vector<Word> y, Ints<K...>) {
  return __builtin_shufflevector(x, y, interleaved<Word, Half>(K)...);
}
template <class Word, int Half>
Vector<Word> interleave(Vector<Word> x, Vector<Word> y) {
  return interleave<Word, Half>(x, y,
                                typename IntsBelow<vector_bytes / static_cast<int>(sizeof(Word))>::type{});
}

#if defined(__AVX512F__)
using Wide = __m512i;
/// The four lanes at from, from + step, ...: the parts of one vector.
inline Wide gather_lanes(const std::byte* from, std::ptrdiff_t step) {
  Wide v = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  v = _mm512_inserti64x2(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + step)), 1);
  v = _mm512_inserti64x2(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * step)), 2);
  return _mm512_inserti64x2(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 3 * step)), 3);
}
inline void stream_vector(std::byte* to, Wide v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v); }
#elif defined(__AVX2__)
using Wide = __m256i;
inline Wide gather_lanes(const std::byte* from, std::ptrdiff_t step) {
  const Wide v = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_inserti128_si256(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + step)), 1);
}
inline void stream_vector(std::byte* to, Wide v) { _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v); }
#elif defined(__x86_64__)
using Wide = __m128i;
inline Wide gather_lanes(const std::byte* from, std::ptrdiff_t) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
inline void stream_vector(std::byte* to, Wide v) { _mm_stream_si128(reinterpret_cast<__m128i*>(to), v); }
#else
using Wide = Vector<std::uint64_t>;
inline Wide gather_lanes(const std::byte* from, std::ptrdiff_t) {
  Wide v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline void stream_vector(std::byte* to, Wide v) {
  __builtin_memcpy(__builtin_assume_aligned(to, 16), &v, sizeof v);
}
#endif

#if defined(__x86_64__)
inline void fence_streams() { _mm_sfence(); }
#else
inline void fence_streams() { __sync_synchronize(); }
#endif

inline void store_vector(std::byte* to, Wide v) { __builtin_memcpy(to, &v, sizeof v); }
inline Wide load_vector(const std::byte* from) {
  Wide v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

}  // namespace
}  // namespace tessera::transpose
