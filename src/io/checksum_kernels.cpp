// Compiled for each instruction set: no function of other files is called here that is not always inlined
// (cmake/TesseraTargets.cmake says why). The compiler makes vectors of these loops.

#include "io/checksum_kernels.hpp"

#include <cstring>

#include "base/hash.hpp"

#ifndef TESSERA_ISA
#define TESSERA_ISA baseline
#endif

namespace tessera::io::TESSERA_ISA {
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

/// `lanes` elements, each with one lane of every vector.
template <index_t lanes>
[[gnu::always_inline]] inline std::uint64_t sum_of_some(const std::byte* elements, index_t bytes,
                                                        std::uint64_t position) {
  std::uint64_t folded[lanes] = {}, word[lanes], sum = 0;
  index_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    for (index_t i = 0; i < lanes; ++i) std::memcpy(&word[i], elements + i * bytes + at, 8);
    for (index_t i = 0; i < lanes; ++i) folded[i] = mix64(folded[i]) ^ word[i];
  }
  if (at < bytes) {  // the last bytes of a whole word
    for (index_t i = 0; i < lanes; ++i) std::memcpy(&word[i], elements + (i + 1) * bytes - 8, 8);
    for (index_t i = 0; i < lanes; ++i) folded[i] = mix64(folded[i]) ^ (word[i] >> 8 * (8 - (bytes - at)));
  }
  for (index_t i = 0; i < lanes; ++i) sum += hash_at(folded[i], position + static_cast<std::uint64_t>(i));
  return sum;
}

constexpr index_t words_of_block = block_bytes / 4;
struct Factors {
  std::uint64_t of[words_of_block];
};
/// Odd ones.
constexpr Factors make_factors() {
  Factors factors{};
  for (index_t i = 0; i < words_of_block; ++i) factors.of[i] = mix64(~static_cast<std::uint64_t>(i)) | 1;
  return factors;
}
constexpr Factors factors = make_factors();

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
std::uint64_t sum_of_long(const std::byte* elements, index_t bytes, index_t count, std::uint64_t position) {
  constexpr index_t lanes = 16;
  std::uint64_t sum = 0;
  index_t e = 0;
  for (; e + lanes <= count; e += lanes)
    sum += sum_of_some<lanes>(elements + e * bytes, bytes, position + static_cast<std::uint64_t>(e));
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

}  // namespace tessera::io::TESSERA_ISA
