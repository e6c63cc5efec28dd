// Compiled for each instruction set: of other files, only always-inlined functions may be called
// here (cmake/TesseraTargets.cmake gives the reason). The compiler vectorises these loops.

#include "io/checksum_kernels.hpp"

#include <cstring>

#include "base/hash.hpp"
#include "base/simd/vector.hpp"

namespace tessera::inline v1::io::TESSERA_ISA {
namespace {

template <class Word>
[[gnu::always_inline]] inline std::uint64_t sum_of(const std::byte* words, index_t count,
                                                   std::uint64_t position) {
  std::uint64_t sum = 0;
  for (index_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, words + i * static_cast<index_t>(sizeof(Word)), sizeof(Word));
    sum += hash_at(word, position + static_cast<std::uint64_t>(i));
  }
  return sum;
}

/// Returns the sum of `lanes` elements, one per lane of the vectors.
template <index_t lanes>
[[gnu::always_inline]] inline std::uint64_t sum_of_some(const std::byte* elements, index_t bytes,
                                                        std::uint64_t position) {
  std::uint64_t folded[lanes] = {}, word[lanes], sum = 0;
  index_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    for (index_t i = 0; i < lanes; ++i) std::memcpy(&word[i], elements + i * bytes + at, 8);
    for (index_t i = 0; i < lanes; ++i) folded[i] = mix64(folded[i]) ^ word[i];
  }
  if (at < bytes) {  // loads the last 8 bytes, and shifts out those already read
    for (index_t i = 0; i < lanes; ++i) std::memcpy(&word[i], elements + (i + 1) * bytes - 8, 8);
    for (index_t i = 0; i < lanes; ++i)
      folded[i] = mix64(folded[i]) ^ (word[i] >> 8 * (8 - (bytes - at)));
  }
  for (index_t i = 0; i < lanes; ++i)
    sum += hash_at(folded[i], position + static_cast<std::uint64_t>(i));
  return sum;
}

#if defined(__AVX512F__)
typedef std::uint64_t Words __attribute__((vector_size(64)));
constexpr index_t in_vector = 8;

/// Two words of each of 8 elements, from 16 bytes of each.
struct TwoWords {
  Words first, second;
};
/// The element that each lane of TwoWords belongs to.
constexpr Words elements_of_lanes = {0, 4, 1, 5, 2, 6, 3, 7};

[[gnu::always_inline]] inline TwoWords two_words(const Words& few, const Words& others) {
  return {__builtin_shufflevector(few, others, 0, 8, 2, 10, 4, 12, 6, 14),
          __builtin_shufflevector(few, others, 1, 9, 3, 11, 5, 13, 7, 15)};
}
/// Loads 16 bytes of each of four elements, `bytes` apart.
[[gnu::always_inline]] inline Words four_halves(const std::byte* from, index_t bytes) {
  const auto half = [=](index_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * bytes));
  };
  __m512i four = _mm512_castsi128_si512(half(0));
  four = _mm512_inserti64x2(four, half(1), 1);
  four = _mm512_inserti64x2(four, half(2), 2);
  return reinterpret_cast<Words>(_mm512_inserti64x2(four, half(3), 3));
}
[[gnu::always_inline]] inline TwoWords two_words(const std::byte* from, index_t bytes) {
  if (bytes == 16) {
    Words eight[2];
    std::memcpy(eight, from, sizeof(eight));
    return two_words(eight[0], eight[1]);
  }
  return two_words(four_halves(from, bytes), four_halves(from + 4 * bytes, bytes));
}

/// Applies mix64 to every lane.
[[gnu::always_inline]] inline Words mixed(Words x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// As sum_of_some, for elements of at least 16 bytes: interleaves four vectors, because a word of
/// an element depends on the previous one for 45 cycles and takes 7 to compute. For 16, 40 and 100
/// bytes 8.4, 9.2, 7.6 -> 12.3, 12.4, 13 GB/s (Emerald Rapids).
template <index_t vectors>
[[gnu::always_inline]] inline Words sum_of_vectors(const std::byte* elements, index_t bytes,
                                                   std::uint64_t position) {
  Words folded[vectors];
  for (index_t v = 0; v < vectors; ++v) folded[v] = Words{} + mix64(0);
  const index_t whole = bytes / 8 * 8, rest = 8 * (bytes - whole);
  const auto two_at = [&](index_t v, index_t at) {
    return two_words(elements + v * in_vector * bytes + at, bytes);
  };
  for (index_t v = 0; v < vectors; ++v) {
    const TwoWords two = two_at(v, 0);
    folded[v] = mixed(folded[v] ^ two.first) ^ two.second;
  }
  index_t at = 16;
  for (; at + 16 <= whole; at += 16) {
    for (index_t v = 0; v < vectors; ++v) {
      const TwoWords two = two_at(v, at);
      folded[v] = mixed(mixed(folded[v]) ^ two.first) ^ two.second;
    }
  }
  if (at < whole)
    for (index_t v = 0; v < vectors; ++v)
      folded[v] = mixed(folded[v]) ^ two_at(v, whole - 16).second;
  if (rest > 0)
    for (index_t v = 0; v < vectors; ++v)
      folded[v] = mixed(folded[v]) ^ (two_at(v, bytes - 16).second >> (64 - rest));
  Words sum{};
  for (index_t v = 0; v < vectors; ++v) {
    const Words positions =
        elements_of_lanes + (position + static_cast<std::uint64_t>(v * in_vector));
    sum += mixed(folded[v] ^ mixed(positions));
  }
  return sum;
}
#endif

constexpr index_t words_of_block = block_bytes / 4;
struct BlockFactors {
  std::uint64_t of[words_of_block];
};
/// Returns an odd factor for each word of a block.
constexpr BlockFactors make_factors() {
  BlockFactors factors{};
  for (index_t i = 0; i < words_of_block; ++i)
    factors.of[i] = mix64(~static_cast<std::uint64_t>(i)) | 1;
  return factors;
}
constexpr BlockFactors factors = make_factors();

}  // namespace

std::uint64_t sum_of_blocks(const std::byte* blocks, index_t count, std::uint64_t position) {
  std::uint64_t sum = 0;
  for (index_t b = 0; b < count; ++b) {
    std::uint64_t of_block = 0;
    for (index_t i = 0; i < words_of_block; ++i) {
      std::uint32_t word;
      std::memcpy(&word, blocks + b * block_bytes + 4 * i, 4);
      of_block += word * factors.of[i];
    }
    sum += of_block * (mix64(position + static_cast<std::uint64_t>(b)) | 1);
  }
  return sum;
}
std::uint64_t sum_of_long(const std::byte* elements, index_t bytes, index_t count,
                          std::uint64_t position) {
#if defined(__AVX2__)
  constexpr index_t lanes = 32;
#else
  constexpr index_t lanes = 16;
#endif
  std::uint64_t sum = 0;
  index_t e = 0;
#if defined(__AVX512F__)
  constexpr index_t vectors = 4;
  Words sums{};
  for (; bytes >= 16 && e + vectors * in_vector <= count; e += vectors * in_vector)
    sums += sum_of_vectors<vectors>(elements + e * bytes, bytes,
                                    position + static_cast<std::uint64_t>(e));
  for (index_t i = 0; i < in_vector; ++i) sum += sums[i];
#endif
  for (; e + lanes <= count; e += lanes)
    sum +=
        sum_of_some<lanes>(elements + e * bytes, bytes, position + static_cast<std::uint64_t>(e));
  for (; e < count; ++e)
    sum += sum_of_some<1>(elements + e * bytes, bytes, position + static_cast<std::uint64_t>(e));
  return sum;
}
std::uint64_t sum_of_words16(const std::byte* words, index_t count, std::uint64_t position) {
  return sum_of<std::uint16_t>(words, count, position);
}
std::uint64_t sum_of_words32(const std::byte* words, index_t count, std::uint64_t position) {
  return sum_of<std::uint32_t>(words, count, position);
}
std::uint64_t sum_of_words64(const std::byte* words, index_t count, std::uint64_t position) {
  return sum_of<std::uint64_t>(words, count, position);
}

}  // namespace tessera::inline v1::io::TESSERA_ISA
