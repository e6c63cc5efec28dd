#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "io/checksum.hpp"
#include "io/checksum_kernels.hpp"
#include "io/h5.hpp"
#include "io/schema.hpp"
#include "io/verify_file.hpp"
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
    EXPECT_EQ(whole,
              checksum(bytes.first(cut), element, 0) + checksum(bytes.subspan(cut), element, 37));
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
    for (const std::size_t cut :
         std::initializer_list<std::size_t>{0, 1, 2, 3, 4, 510, 511, 512, 513, 1500, 2999, 3000}) {
      const auto rest =
          checksum(std::span(data).subspan(cut), 1, first + static_cast<index_t>(cut));
      EXPECT_EQ(whole, checksum(std::span(data).first(cut), 1, first) + rest)
          << first << " " << cut;
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
    data[(i + 512) % data.size()] ^= std::byte{128};  // two signs, at the same position of two
                                                      // blocks
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
  for (const std::size_t size : std::initializer_list<std::size_t>{9, 15, 16, 17, 23, 40, 100}) {
    for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 15, 16, 17, 49}) {
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
      EXPECT_EQ(checksum(std::span(data).first(count * size), static_cast<index_t>(size), 77), want)
          << size;
    }
  }
}

TEST(Checksum, IsTheSameOnEveryInstructionSet) {
  std::vector<std::uint64_t> words(1001);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix64(i);
  const auto* data = reinterpret_cast<const std::byte*>(words.data());
  const auto expect_same = [&](auto sum_of, auto want_of, index_t count) {
    EXPECT_EQ(sum_of(data, count, 7), want_of(data, count, 7));
    EXPECT_NE(sum_of(data, count, 7), 0);
  };
  const auto expect_same_of_long = [&](auto sum_of) {
    for (const index_t bytes : {9, 16, 40, 100})
      EXPECT_EQ(sum_of(data, bytes, 79, 7), baseline::sum_of_long(data, bytes, 79, 7)) << bytes;
  };
#define EXPECT_SAME(isa)                                            \
  expect_same(isa::sum_of_words64, baseline::sum_of_words64, 1001); \
  expect_same(isa::sum_of_words32, baseline::sum_of_words32, 2001); \
  expect_same(isa::sum_of_words16, baseline::sum_of_words16, 4001); \
  expect_same(isa::sum_of_blocks, baseline::sum_of_blocks, 15);     \
  expect_same_of_long(isa::sum_of_long)
  EXPECT_SAME(baseline);
#ifndef TESSERA_ONLY_BASELINE
  if (machine::supports(machine::Isa::bits256)) {
    EXPECT_SAME(bits256);
  }
  if (machine::supports(machine::Isa::bits512)) {
    EXPECT_SAME(bits512);
  }
#endif
#undef EXPECT_SAME
}

/// The dataset exceeds the size of one read; nothing of it was written, so that it reads as its
/// fill value.
TEST(CheckFile, SumsUpLargeDatasetsPieceByPiece) {
  constexpr index_t row = 65 << 20, at_once = 1 << 20;
  const hsize_t shape[2] = {2, row};
  const std::uint8_t fill = 7;
  const std::string file =
      ::testing::TempDir() + "tessera_pieces_test_" + std::to_string(getpid()) + ".h5";
  {
    const Handle out(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle group(H5Gcreate2(out, schema::group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Gclose);
    write_attribute(group, schema::state, std::string(schema::state_complete));
    write_attribute(group, schema::schema_version, index_t{schema::output_version});
    const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_fill_value(list, H5T_NATIVE_UINT8, &fill);
    const Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose);
    const Handle dataset(
        H5Dcreate2(out, "b", H5T_NATIVE_UINT8, space, H5P_DEFAULT, list, H5P_DEFAULT), H5Dclose);
    const std::vector<std::byte> some(at_once, std::byte{fill});
    std::uint64_t sum = 0;
    for (index_t first = 0; first < 2 * row; first += at_once) sum += checksum(some, 1, first);
    write_attribute(dataset, schema::checksum, checksum_text(sum));
  }
  index_t pieces = 0;
  EXPECT_TRUE(check_file(file, [&](index_t bytes) { pieces += bytes > 0 ? 1 : 0; })
                  .datasets.at(0)
                  .matches());
  EXPECT_EQ(pieces, 2);
  std::remove(file.c_str());
}

TEST(CheckFile, KnowsTheSumsOfBytesOfEarlierOutputs) {
  const std::string file =
      ::testing::TempDir() + "tessera_checksum_test_" + std::to_string(getpid()) + ".h5";
  const std::vector<std::uint8_t> bytes{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += hash_at(bytes[i], i);
  const auto write = [&](index_t version, std::uint64_t its) {
    const Handle out(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle group(H5Gcreate2(out, schema::group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Gclose);
    write_attribute(group, schema::state, std::string(schema::state_complete));
    write_attribute(group, schema::schema_version, version);
    const hsize_t n = bytes.size();
    const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose);
    const Handle dataset(
        H5Dcreate2(out, "b", H5T_NATIVE_UINT8, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0);
    write_attribute(dataset, schema::checksum, checksum_text(its));
  };
  write(1, sum);
  EXPECT_TRUE(check_file(file, [](index_t) {}).datasets.at(0).matches());
  write(1, sum + 1);
  EXPECT_FALSE(check_file(file, [](index_t) {}).datasets.at(0).matches());
  write(2, checksum(std::as_bytes(std::span(bytes)), 1, 0));
  EXPECT_TRUE(check_file(file, [](index_t) {}).datasets.at(0).matches());
  write(1000, sum);
  EXPECT_THROW((void)check_file(file, [](index_t) {}), Error);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace tessera::io
