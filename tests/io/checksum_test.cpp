#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "io/checksum.hpp"
#include "io/checksum_kernels.hpp"
#include "machine/isa.hpp"

namespace tessera::io {
namespace {

TEST(Checksum, DoesNotDependOnTheSplit) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 0.1;
  const auto bytes = std::as_bytes(std::span(values));
  for (const index_t element : {4, 8, 16, 20}) {
    const auto whole = checksum(bytes, element, 0);
    const auto cut = static_cast<std::size_t>(element * 37);
    EXPECT_EQ(whole, checksum(bytes.first(cut), element, 0) + checksum(bytes.subspan(cut), element, 37));
    EXPECT_NE(whole, checksum(bytes, element, 1));
  }
}

template <class Word>
void expect_sums_of_hashes() {
  for (index_t count = 0; count < 70; ++count) {
    std::vector<Word> words(static_cast<std::size_t>(count));
    std::uint64_t want = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = static_cast<Word>(mix64(i));
      want += hash_at(words[i], 123456789012 + i);
    }
    const auto bytes = std::as_bytes(std::span(words));
    EXPECT_EQ(checksum(bytes, sizeof(Word), 123456789012), want) << count;
  }
}

TEST(Checksum, OfWordsIsTheSumOfTheirHashesAtTheirPlaces) {
  expect_sums_of_hashes<std::uint16_t>();
  expect_sums_of_hashes<std::uint32_t>();
  expect_sums_of_hashes<std::uint64_t>();
}

TEST(Checksum, OfBytesDoesNotDependOnTheSplit) {
  std::vector<std::byte> data(3000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(mix64(i) >> 56);
  for (const index_t first : {0, 1, 510, 1024, 123456789}) {
    const auto whole = checksum(data, 1, first);
    for (const std::size_t cut : {0, 1, 2, 3, 4, 510, 511, 512, 513, 1500, 2999, 3000}) {
      const auto rest = checksum(std::span(data).subspan(cut), 1, first + static_cast<index_t>(cut));
      EXPECT_EQ(whole, checksum(std::span(data).first(cut), 1, first) + rest) << first << " " << cut;
    }
    EXPECT_NE(whole, checksum(data, 1, first + 1));
  }
}

TEST(Checksum, OfBytesTellsOfEachByteAndItsPlace) {
  std::vector<std::byte> data(1300);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(mix64(i) >> 56);
  const auto whole = checksum(data, 1, 7);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] ^= std::byte{128};
    EXPECT_NE(checksum(data, 1, 7), whole) << i;
    data[(i + 512) % data.size()] ^= std::byte{128};  // two signs, in the same place of two blocks
    EXPECT_NE(checksum(data, 1, 7), whole) << i;
    data[(i + 512) % data.size()] ^= std::byte{128};
    data[i] ^= std::byte{128};
    std::swap(data[i], data[(i + 4) % data.size()]);
    EXPECT_EQ(checksum(data, 1, 7) == whole, data[i] == data[(i + 4) % data.size()]) << i;
    std::swap(data[i], data[(i + 4) % data.size()]);
  }
  EXPECT_EQ(checksum(data, 1, 7), whole);
}

TEST(Checksum, OfLongElementsFoldsTheirWords) {
  std::vector<std::byte> data(5000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(mix64(i) >> 56);
  for (const std::size_t size : {9, 15, 16, 17, 23, 40, 100}) {
    for (const std::size_t count : {0, 1, 15, 16, 17, 49}) {
      std::uint64_t want = 0;
      for (std::size_t e = 0; e < count; ++e) {
        std::uint64_t folded = 0;
        for (std::size_t at = 0; at < size; at += 8) {
          std::uint64_t word = 0;
          std::memcpy(&word, &data[e * size + at], std::min<std::size_t>(8, size - at));
          folded = mix64(folded) ^ word;
        }
        want += hash_at(folded, 77 + e);
      }
      EXPECT_EQ(checksum(std::span(data).first(count * size), static_cast<index_t>(size), 77), want) << size;
    }
  }
}

TEST(Checksum, IsTheSameOnEveryInstructionSet) {
  std::vector<std::uint64_t> words(1001);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix64(i);
  const auto* data = reinterpret_cast<const std::byte*>(words.data());
  const std::uint64_t want = baseline::sum_of_words64(data, 1001, 7);
#ifndef TESSERA_ONLY_BASELINE
  if (machine::isa() != machine::Isa::baseline) {
    EXPECT_EQ(avx2::sum_of_words64(data, 1001, 7), want);
    EXPECT_EQ(avx2::sum_of_blocks(data, 15, 7), baseline::sum_of_blocks(data, 15, 7));
  }
  if (machine::isa() == machine::Isa::avx512) {
    EXPECT_EQ(avx512::sum_of_words64(data, 1001, 7), want);
    EXPECT_EQ(avx512::sum_of_blocks(data, 15, 7), baseline::sum_of_blocks(data, 15, 7));
  }
#endif
  EXPECT_NE(want, 0);
}

}  // namespace
}  // namespace tessera::io
