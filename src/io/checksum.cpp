#include "io/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"

namespace tessera::io {
namespace {

template <class Word>
std::uint64_t sum_words(std::span<const std::byte> data, std::uint64_t position) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < data.size(); at += sizeof(Word), ++position) {
    Word word;
    std::memcpy(&word, data.data() + at, sizeof(Word));
    sum += hash_at(word, position);
  }
  return sum;
}

std::uint64_t fold(std::span<const std::byte> element) {
  std::uint64_t folded = 0;
  for (std::size_t at = 0; at < element.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, element.data() + at, std::min<std::size_t>(8, element.size() - at));
    folded = element.size() <= 8 ? word : mix64(folded) ^ word;
  }
  return folded;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> data, index_t element_bytes, index_t first_element) {
  auto position = static_cast<std::uint64_t>(first_element);
  if (element_bytes == 8) return sum_words<std::uint64_t>(data, position);
  if (element_bytes == 4) return sum_words<std::uint32_t>(data, position);
  if (element_bytes == 2) return sum_words<std::uint16_t>(data, position);
  if (element_bytes == 1) return sum_words<std::uint8_t>(data, position);
  const auto size = static_cast<std::size_t>(element_bytes);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + size <= data.size(); at += size)
    sum += hash_at(fold(data.subspan(at, size)), position++);
  return sum;
}

std::string checksum_text(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

}  // namespace tessera::io
