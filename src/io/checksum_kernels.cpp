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

}  // namespace

std::uint64_t sum_of_words8(const std::byte* words, index_t count, std::uint64_t position) {
  return sum_of<std::uint8_t>(words, count, position);
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
