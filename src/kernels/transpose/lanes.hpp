#pragma once
// Vectors of 1, 2 or 4 lanes of 16 bytes: as many as the instruction set has. For files compiled
// per instruction set only; everything here has internal linkage, so that no copy compiled for one
// set serves another.

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// A file that traces what the leaf touches defines these before.
#ifndef TESSERA_LOADED
#define TESSERA_LOADED(from, bytes)
#define TESSERA_STORED(to, bytes)
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

template <class Word, int Lanes>
struct VectorOf {
  typedef Word type __attribute__((vector_size(Lanes * lane_bytes)));
};
template <class Word, int Lanes>
using Vector = typename VectorOf<Word, Lanes>::type;
/// Bytes without a type: what is loaded and stored.
template <int Lanes>
using Wide = Vector<long long, Lanes>;

template <int Lanes>
Wide<Lanes> load(const std::byte* from) {
  Wide<Lanes> v;
  TESSERA_LOADED(from, sizeof v);
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <int Lanes>
void store(std::byte* to, Wide<Lanes> v) {
  TESSERA_STORED(to, sizeof v);
  __builtin_memcpy(to, &v, sizeof v);
}

/// Lane l of v.
template <class V>
void store_lane(std::byte* to, const V& v, int l) {
  TESSERA_STORED(to, lane_bytes);
  __builtin_memcpy(to, reinterpret_cast<const std::byte*>(&v) + l * lane_bytes, lane_bytes);
}

#if defined(__x86_64__)
inline void stream(std::byte* to, Wide<1> v) {
  TESSERA_STORED(to, sizeof v);
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
}
inline void fence_streams() { _mm_sfence(); }
#else
inline void stream(std::byte* to, Wide<1> v) { store<1>(to, v); }
inline void fence_streams() { __sync_synchronize(); }
#endif
#if defined(__AVX2__)
inline void stream(std::byte* to, Wide<2> v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
}
#endif
#if defined(__AVX512F__)
inline void stream(std::byte* to, Wide<4> v) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
}
#endif

/// One record.
template <int Bytes>
void copy_record(std::byte* to, const std::byte* from) {
  TESSERA_LOADED(from, Bytes);
  TESSERA_STORED(to, Bytes);
  __builtin_memcpy(to, from, Bytes);
}

/// v in a register: the compiler shall not load it again where it is used a second time.
#if defined(__x86_64__)
template <class V>
V keep(V v) {
  asm("" : "+v"(v));
  return v;
}
#else
template <class V>
V keep(V v) {
  return v;
}
#endif

/// A vector of a stage, which no trace sees.
inline Wide<lane_count> stage_vector(const std::byte* from) {
  Wide<lane_count> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

/// The vector that begins `from` bytes, a multiple of 4, after the first of two that follow each
/// other.
#if defined(__AVX512F__)
inline constexpr bool shifts_words = true;  ///< by one instruction
class Shift {
 public:
  explicit Shift(std::ptrdiff_t from)
      : places_(_mm512_add_epi32(
            _mm512_set1_epi32(static_cast<int>(from / 4)),
            _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0))) {}
  [[nodiscard]] Wide<4> operator()(Wide<4> first, Wide<4> second) const {
    return (Wide<4>)_mm512_permutex2var_epi32((__m512i)first, places_, (__m512i)second);
  }

 private:
  __m512i places_;
};
#else
inline constexpr bool shifts_words = false;
class Shift {
 public:
  explicit Shift(std::ptrdiff_t from) : from_(from) {}
  [[nodiscard]] Wide<lane_count> operator()(Wide<lane_count> first, Wide<lane_count> second) const {
    const Wide<lane_count> both[]{first, second};
    return stage_vector(reinterpret_cast<const std::byte*>(both) + from_);
  }

 private:
  std::ptrdiff_t from_;
};
#endif

/// x, of which the compiler knows nothing: else it keeps the multiples of a stride that a loop
/// uses, sixteen for each matrix, in memory, and every access of the loop waits for two. For
/// ordinary stores in the cache; where memory decides it costs more than it gains.
template <class Integer>
Integer unknown(Integer x) {
  asm("" : "+r"(x));
  return x;
}

/// The lanes at from, from + step, ...: one vector.
template <int Lanes>
Wide<Lanes> gather_lanes(const std::byte* from, std::ptrdiff_t step) {
  if constexpr (Lanes == 1) {
    return load<1>(from);
  } else if constexpr (Lanes == 2) {
    return __builtin_shufflevector(load<1>(from), load<1>(from + step), 0, 1, 2, 3);
  } else {
    return __builtin_shufflevector(gather_lanes<2>(from, step),
                                   gather_lanes<2>(from + 2 * step, step), 0, 1, 2, 3, 4, 5, 6, 7);
  }
}

/// Lane l of v[r] becomes lane r of v[l].
template <int Lanes>
void transpose_lanes(Wide<Lanes>* v) {
  if constexpr (Lanes == 2) {
    const Wide<2> x = v[0];
    v[0] = __builtin_shufflevector(x, v[1], 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(x, v[1], 2, 3, 6, 7);
  } else if constexpr (Lanes == 4) {
    const Wide<4> low01 = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11);
    const Wide<4> high01 = __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
    const Wide<4> low23 = __builtin_shufflevector(v[2], v[3], 0, 1, 2, 3, 8, 9, 10, 11);
    const Wide<4> high23 = __builtin_shufflevector(v[2], v[3], 4, 5, 6, 7, 12, 13, 14, 15);
    v[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5, 8, 9, 12, 13);
    v[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7, 10, 11, 14, 15);
    v[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5, 8, 9, 12, 13);
    v[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7, 10, 11, 14, 15);
  }
}

template <int... K>
struct Ints {};
template <int N, int... K>
struct IntsBelow : IntsBelow<N - 1, N - 1, K...> {};
template <int... K>
struct IntsBelow<0, K...> {
  using type = Ints<K...>;
};

template <class Word>
inline constexpr int words_in_lane = lane_bytes / static_cast<int>(sizeof(Word));

/// Position p of the interleaving of the lower (half 0) or upper (half 1) halves of each lane of
/// two vectors.
template <class Word, int Lanes, int Half>
constexpr int interleaved(int p) {
  constexpr int words = words_in_lane<Word>;
  const int lane = p / words * words;
  const int inside = p % words;
  return lane + inside / 2 + Half * words / 2 + (inside % 2 == 0 ? 0 : Lanes * words);
}
template <class Word, int Lanes, int Half, int... K>
Wide<Lanes> interleave(Wide<Lanes> x, Wide<Lanes> y, Ints<K...>) {
  return (Wide<Lanes>)__builtin_shufflevector((Vector<Word, Lanes>)x, (Vector<Word, Lanes>)y,
                                              interleaved<Word, Lanes, Half>(K)...);
}
template <class Word, int Lanes, int Half>
Wide<Lanes> interleave(Wide<Lanes> x, Wide<Lanes> y) {
  return interleave<Word, Lanes, Half>(x, y,
                                       typename IntsBelow<Lanes * words_in_lane<Word>>::type{});
}

/// In every lane: word w of v[r] becomes word r of v[w], for as many vectors as a lane has words.
template <class Word, int Lanes>
void transpose_words(Wide<Lanes>* v) {
  constexpr int count = words_in_lane<Word>;
  for (int round = 1; round < count; round *= 2) {
    Wide<Lanes> next[count];
    for (int k = 0; k < count / 2; ++k) {
      next[2 * k] = interleave<Word, Lanes, 0>(v[k], v[k + count / 2]);
      next[2 * k + 1] = interleave<Word, Lanes, 1>(v[k], v[k + count / 2]);
    }
    for (int k = 0; k < count; ++k) v[k] = next[k];
  }
}

}  // namespace
}  // namespace tessera::transpose
