#include "io/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "io/checksum_kernels.hpp"

namespace tessera::io {
namespace {

/// Of up to 8 bytes.
std::uint64_t word_of(std::span<const std::byte> element) {
  std::uint64_t word = 0;
  std::memcpy(&word, element.data(), element.size());
  return word;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> data, index_t element_bytes, index_t first_element) {
  auto position = static_cast<std::uint64_t>(first_element);
  const auto count = static_cast<index_t>(data.size()) / std::max<index_t>(element_bytes, 1);
  const machine::Isa isa = machine::isa();
  if (element_bytes == 8) return TESSERA_OF_ISA(isa, sum_of_words64)(data.data(), count, position);
  if (element_bytes == 4) return TESSERA_OF_ISA(isa, sum_of_words32)(data.data(), count, position);
  if (element_bytes == 2) return TESSERA_OF_ISA(isa, sum_of_words16)(data.data(), count, position);
  if (element_bytes == 1) return TESSERA_OF_ISA(isa, sum_of_words8)(data.data(), count, position);
  if (element_bytes > 8) return TESSERA_OF_ISA(isa, sum_of_long)(data.data(), element_bytes, count, position);
  const auto size = static_cast<std::size_t>(element_bytes);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + size <= data.size(); at += size)
    sum += hash_at(word_of(data.subspan(at, size)), position++);
  return sum;
}

std::string checksum_text(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

}  // namespace tessera::io
