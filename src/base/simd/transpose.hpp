#pragma once
// Transposition in registers. A vector has 1, 2 or 4 blocks of 16 bytes. Shuffles within blocks are
// the cheapest, so words move inside blocks and whole blocks move between vectors.

#include "base/simd/shuffle.hpp"

namespace tessera::inline v1::simd {
namespace {

inline constexpr int block_bytes = 16;
template <class V>
inline constexpr int blocks_of = static_cast<int>(sizeof(V)) / block_bytes;
/// The number of blocks in a register of the instruction set.
inline constexpr int block_count = static_cast<int>(vector_bytes) / block_bytes;
template <class Word>
inline constexpr int words_in_block = block_bytes / static_cast<int>(sizeof(Word));

template <class V, int... i>
TESSERA_INLINE auto joined(V a, V b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, i...);
}
/// Concatenates a and b into a vector of twice the size.
template <class V>
TESSERA_INLINE auto join(V a, V b) {
  using Both [[maybe_unused]] = Vector<Element<V>, 2 * index_t{sizeof(V)}>;
#if defined(__AVX512F__)  // by an insertion, because GCC 12 goes through the stack
  if constexpr (sizeof(V) == 32)
    return reinterpret_cast<Both>(
        _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(reinterpret_cast<__m256i>(a)),
                                 reinterpret_cast<__m256i>(b), 1));
  else
#endif
#if defined(__AVX2__)
      if constexpr (sizeof(V) == 16)
    return reinterpret_cast<Both>(_mm256_inserti128_si256(
        _mm256_castsi128_si256(reinterpret_cast<__m128i>(a)), reinterpret_cast<__m128i>(b), 1));
  else
#endif
    return joined(a, b, std::make_integer_sequence<int, 2 * lanes_of<V>>{});
}

template <int first, class V, int... i>
TESSERA_INLINE auto part_of(V v, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(v, v, (first + i)...);
}
/// Returns block k.
template <int k, class V>
TESSERA_INLINE auto block(V v) {
  constexpr int lanes = words_in_block<Element<V>>;
  return part_of<k * lanes>(v, std::make_integer_sequence<int, lanes>{});
}

/// Broadcasts the block at `from` to every block.
template <class V>
TESSERA_INLINE V repeat_block(const Element<V>* from) {
  const auto one = load<Vector<Element<V>, block_bytes>>(from);
#if defined(__AVX512F__)  // one load, where GCC 12 goes through the stack
  return reinterpret_cast<V>(_mm512_maskz_broadcast_f32x4(0xffff, reinterpret_cast<__m128>(one)));
#else
  if constexpr (blocks_of<V> == 4) return join(join(one, one), join(one, one));
  if constexpr (blocks_of<V> == 2) return join(one, one);
  if constexpr (blocks_of<V> == 1) return one;
#endif
}

/// Broadcasts lane k of every block within that block.
template <int k, class V>
TESSERA_INLINE V spread_in_blocks(V v) {
  return shuffle(v, v, [](int i) {
    constexpr int lanes = words_in_block<Element<V>>;
    return i / lanes * lanes + k;
  });
}

/// Interleaves the lower halves of every block of a and b.
template <class V>
TESSERA_INLINE V interleave_low_in_blocks(V a, V b) {
  return shuffle(a, b, [](int i) {
    constexpr int lanes = words_in_block<Element<V>>;
    return i / lanes * lanes + i % lanes / 2 + i % 2 * lanes_of<V>;
  });
}
/// Interleaves the upper halves of every block of a and b.
template <class V>
TESSERA_INLINE V interleave_high_in_blocks(V a, V b) {
  return shuffle(a, b, [](int i) {
    constexpr int lanes = words_in_block<Element<V>>;
    return i / lanes * lanes + lanes / 2 + i % lanes / 2 + i % 2 * lanes_of<V>;
  });
}

/// Returns the lower, or the upper, two blocks of a and then of b, which have 4 blocks each.
template <class V>
TESSERA_INLINE V low_halves(V a, V b) {
  return shuffle(a, b, [](int i) { return i < lanes_of<V> / 2 ? i : i + lanes_of<V> / 2; });
}
template <class V>
TESSERA_INLINE V high_halves(V a, V b) {
  return shuffle(a, b, [](int i) { return i + lanes_of<V> / 2 * (i < lanes_of<V> / 2 ? 1 : 2); });
}
/// Returns the even, or the odd, blocks of a and then of b.
template <class V>
TESSERA_INLINE V even_blocks(V a, V b) {
  return shuffle(a, b, [](int i) {
    constexpr int lanes = words_in_block<Element<V>>;
    return i / lanes * 2 * lanes + i % lanes;
  });
}
template <class V>
TESSERA_INLINE V odd_blocks(V a, V b) {
  return shuffle(a, b, [](int i) {
    constexpr int lanes = words_in_block<Element<V>>;
    return (i / lanes * 2 + 1) * lanes + i % lanes;
  });
}

/// Transposes blocks: block k of v[r] becomes block r of v[k]. v has as many vectors as a vector
/// has blocks.
template <class V>
TESSERA_INLINE void transpose_blocks(V* v) {
  if constexpr (blocks_of<V> == 2) {
    const V even = even_blocks(v[0], v[1]);
    v[1] = odd_blocks(v[0], v[1]);
    v[0] = even;
  } else if constexpr (blocks_of<V> == 4) {
    const V low01 = low_halves(v[0], v[1]), high01 = high_halves(v[0], v[1]);
    const V low23 = low_halves(v[2], v[3]), high23 = high_halves(v[2], v[3]);
    v[0] = even_blocks(low01, low23);
    v[1] = odd_blocks(low01, low23);
    v[2] = even_blocks(high01, high23);
    v[3] = odd_blocks(high01, high23);
  }
}

/// Transposes words within every block: word w of v[r] becomes word r of v[w]. v has as many
/// vectors as a block has words.
template <class Word, class V>
TESSERA_INLINE void transpose_words(V* v) {
  constexpr int count = words_in_block<Word>;
#pragma GCC unroll 4
  for (int round = 1; round < count; round *= 2) {
    V next[count];
#pragma GCC unroll 8
    for (int k = 0; k < count / 2; ++k) {
      const auto x = bits_as<Word>(v[k]), y = bits_as<Word>(v[k + count / 2]);
      next[2 * k] = reinterpret_cast<V>(interleave_low_in_blocks(x, y));
      next[2 * k + 1] = reinterpret_cast<V>(interleave_high_in_blocks(x, y));
    }
#pragma GCC unroll 16
    for (int k = 0; k < count; ++k) v[k] = next[k];
  }
}

/// Transposes words: word c of v[r] becomes word r of v[c]. v has as many vectors as a vector has
/// words.
template <class Word, class V>
TESSERA_INLINE void transpose_square(V* v) {
  constexpr int blocks = blocks_of<V>, words = words_in_block<Word>;
  V by_block[blocks][words];
#pragma GCC unroll 16
  for (int w = 0; w < words; ++w) {
    V rows[blocks];
#pragma GCC unroll 4
    for (int k = 0; k < blocks; ++k) rows[k] = v[k * words + w];
    transpose_blocks(rows);
#pragma GCC unroll 4
    for (int k = 0; k < blocks; ++k) by_block[k][w] = rows[k];
  }
#pragma GCC unroll 4
  for (int k = 0; k < blocks; ++k) {
    if constexpr (words > 1) transpose_words<Word>(by_block[k]);
#pragma GCC unroll 16
    for (int w = 0; w < words; ++w) v[k * words + w] = by_block[k][w];
  }
}

/// Interleaves the vectors of v: lane p of v[r] becomes element p * R + r of the vectors as one
/// array, R a power of two. Each stage interleaves the two halves of that array, which moves the
/// top bit of r below all others.
template <class V, int R>
TESSERA_INLINE void interleave_rows(V (&v)[R]) {
#pragma GCC unroll 4
  for (int stage = 1; stage < R; stage *= 2) {
    V w[R];
#pragma GCC unroll 8
    for (int i = 0; i < R / 2; ++i) {
      w[2 * i] = interleave_low(v[i], v[i + R / 2]);
      w[2 * i + 1] = interleave_high(v[i], v[i + R / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) v[i] = w[i];
  }
}

}  // namespace
}  // namespace tessera::inline v1::simd
