#include "io/checksum.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash.hpp"
#include "io/checksum_kernels.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns an element of up to 8 bytes as a word.
std::uint64_t word_of(std::span<const std::byte> element) {
  std::uint64_t word = 0;
  std::memcpy(&word, element.data(), element.size());
  return word;
}

/// Returns the sum of single bytes, block by block; partial blocks are padded with zeros.
std::uint64_t sum_of_bytes(std::span<const std::byte> data, index_t first) {
  const auto sum_of = TESSERA_OF_ISA(machine::isa(), sum_of_blocks);
  std::uint64_t sum = 0;
  for (index_t some = 0; !data.empty();
       first += some, data = data.subspan(static_cast<std::size_t>(some))) {
    const index_t at = first % block_bytes,
                  blocks = static_cast<index_t>(data.size()) / block_bytes;
    const auto position = static_cast<std::uint64_t>(first / block_bytes);
    if (at == 0 && blocks > 0) {
      some = blocks * block_bytes;
      sum += sum_of(data.data(), blocks, position);
    } else {
      some = std::min(static_cast<index_t>(data.size()), block_bytes - at);
      std::array<std::byte, block_bytes> block{};
      std::copy_n(data.begin(), some, block.begin() + at);
      sum += sum_of(block.data(), 1, position);
    }
  }
  return sum;
}

/// Returns the sum of elements of at most 8 bytes, one by one.
std::uint64_t sum_of_elements(std::span<const std::byte> data, index_t element_bytes,
                              std::uint64_t position) {
  const auto size = static_cast<std::size_t>(element_bytes);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + size <= data.size(); at += size)
    sum += hash_at(word_of(data.subspan(at, size)), position++);
  return sum;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> data, index_t element_bytes,
                       index_t first_element) {
  const auto position = static_cast<std::uint64_t>(first_element);
  const auto count = static_cast<index_t>(data.size()) / std::max<index_t>(element_bytes, 1);
  const machine::Isa isa = machine::isa();
  if (element_bytes == 8) return TESSERA_OF_ISA(isa, sum_of_words64)(data.data(), count, position);
  if (element_bytes == 4) return TESSERA_OF_ISA(isa, sum_of_words32)(data.data(), count, position);
  if (element_bytes == 2) return TESSERA_OF_ISA(isa, sum_of_words16)(data.data(), count, position);
  if (element_bytes == 1) return sum_of_bytes(data, first_element);
  if (element_bytes > 8)
    return TESSERA_OF_ISA(isa, sum_of_long)(data.data(), element_bytes, count, position);
  return sum_of_elements(data, element_bytes, position);
}

std::uint64_t checksum_version1(std::span<const std::byte> data, index_t element_bytes,
                                index_t first_element) {
  if (element_bytes != 1) return checksum(data, element_bytes, first_element);
  return sum_of_elements(data, element_bytes, static_cast<std::uint64_t>(first_element));
}

std::string checksum_text(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

}  // namespace tessera::inline v1::io
