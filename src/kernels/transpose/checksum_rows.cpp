// Loops of the checksum that the compiler vectorises.

#include "kernels/transpose/checksum_rows.hpp"

#include "base/hash.hpp"

namespace tessera::inline v1::transpose::TESSERA_ISA {
namespace {

template <class Word>
std::uint64_t sum_words(const std::byte* row, index_t count, std::uint64_t row_key,
                        const std::uint64_t* col_keys) {
  std::uint64_t sum = 0;
  for (index_t j = 0; j < count; ++j) {
    Word word;
    __builtin_memcpy(&word, row + j * index_t{sizeof word}, sizeof word);
    sum += mix64(word ^ (row_key + col_keys[j]));
  }
  return sum;
}

std::uint64_t folded(const std::byte* record, index_t bytes) {
  std::uint64_t word = 0;
  for (index_t done = 0; done < bytes; done += 8) {
    std::uint64_t next = 0;
    const index_t left = bytes - done;
    __builtin_memcpy(&next, record + done, static_cast<std::size_t>(left < 8 ? left : 8));
    word = done == 0 ? next : mix64(word) ^ next;
  }
  return word;
}

std::uint64_t sum_records(const std::byte* row, index_t count, index_t bytes, std::uint64_t row_key,
                          const std::uint64_t* col_keys) {
  std::uint64_t sum = 0;
  for (index_t j = 0; j < count; ++j)
    sum += mix64(folded(row + j * bytes, bytes) ^ (row_key + col_keys[j]));
  return sum;
}

}  // namespace

std::uint64_t checksum_row(const std::byte* row, index_t count, index_t bytes,
                           std::uint64_t row_key, const std::uint64_t* col_keys) {
  switch (bytes) {
    case 1:
      return sum_words<std::uint8_t>(row, count, row_key, col_keys);
    case 2:
      return sum_words<std::uint16_t>(row, count, row_key, col_keys);
    case 4:
      return sum_words<std::uint32_t>(row, count, row_key, col_keys);
    case 8:
      return sum_words<std::uint64_t>(row, count, row_key, col_keys);
    default:
      return sum_records(row, count, bytes, row_key, col_keys);
  }
}

}  // namespace tessera::inline v1::transpose::TESSERA_ISA
