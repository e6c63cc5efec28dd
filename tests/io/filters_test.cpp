#include "io/filters.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>

namespace tessera::io {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbers(std::size_t bytes) {
  Bytes result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i * i % 251);
  return result;
}

Bytes deflated(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes result(size);
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                      reinterpret_cast<const Bytef*>(data.data()), data.size(), 6),
            Z_OK);
  result.resize(size);
  return result;
}

Bytes with_sum(Bytes data) {
  const std::uint32_t sum = fletcher32(data);
  for (unsigned b = 0; b < 4; ++b) data.push_back(static_cast<std::byte>(sum >> 8 * b & 0xffU));
  return data;
}

Bytes copy_of(std::span<const std::byte> data) { return {data.begin(), data.end()}; }

/// Returns what is wrong with a chunk; empty if it decodes.
std::string damage_of(ChunkDecoder& decoder, const Bytes& stored, unsigned mask) {
  try {
    (void)decoder.decode(stored, mask);
  } catch (const ChunkDamage& damage) {
    return damage.what;
  }
  return "";
}

TEST(Shuffle, SplitsElementsIntoPlanesAndBack) {
  for (const std::size_t bytes : {1U, 2U, 3U, 4U, 5U, 8U, 12U, 16U, 24U}) {
    for (const std::size_t n : {0U, 1U, 2U, 15U, 16U, 17U, 33U, 160U}) {
      for (const std::size_t rest : {std::size_t{0}, bytes - 1}) {
        const Bytes data = numbers(n * bytes + rest);
        Bytes planes(data.size() + 1, std::byte{0x5a}), back(planes);
        shuffle(data, bytes, planes.data());
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t b = 0; b < bytes; ++b)
            ASSERT_EQ(planes[b * n + i], data[i * bytes + b]) << bytes << " x " << n;
        EXPECT_TRUE(std::equal(data.begin() + static_cast<long>(n * bytes), data.end(),
                               planes.begin() + static_cast<long>(n * bytes)));
        unshuffle(std::span(planes).first(data.size()), bytes, back.data());
        EXPECT_EQ(copy_of(std::span(back).first(data.size())), data) << bytes << " x " << n;
        EXPECT_EQ(planes.back(), std::byte{0x5a});
        EXPECT_EQ(back.back(), std::byte{0x5a});
      }
    }
  }
}

TEST(Fletcher32, IsTheChecksumOfBigEndianWords) {
  const auto sum_of = [](const std::string& text) {
    return fletcher32(std::as_bytes(std::span(text)));
  };
  EXPECT_EQ(sum_of(""), 0U);
  EXPECT_EQ(sum_of("badc"), 0x2926'c6c4U);
  Bytes ones(100001, std::byte{0xff});
  std::uint64_t first = 0, second = 0;
  for (std::size_t i = 0; i < ones.size(); i += 2) {
    first = (first + (i + 1 < ones.size() ? 0xffffU : 0xff00U)) % 65535;
    second = (second + first) % 65535;
  }
  const std::uint32_t found = fletcher32(ones);
  EXPECT_EQ(found % 65536 % 65535, first);
  EXPECT_EQ((found >> 16U) % 65535, second);
}

TEST(ChunkDecoder, UndoesTheFiltersThatTheMaskLeaves) {
  const Bytes data = numbers(1000);
  Bytes planes(data);
  shuffle(data, 8, planes.data());
  ChunkDecoder decoder(
      {{Filter::Kind::shuffle, 8}, {Filter::Kind::deflate, 6}, {Filter::Kind::fletcher32}}, 1000);
  const auto decoded = [&](const Bytes& stored, unsigned mask) {
    return copy_of(decoder.decode(stored, mask));
  };
  EXPECT_EQ(decoded(with_sum(deflated(planes)), 0), data);
  EXPECT_EQ(decoded(with_sum(deflated(data)), 1), data);
  EXPECT_EQ(decoded(with_sum(planes), 2), data);
  EXPECT_EQ(decoded(deflated(planes), 4), data);
  EXPECT_EQ(decoded(data, 7), data);
  ChunkDecoder sum_first({{Filter::Kind::fletcher32}, {Filter::Kind::deflate, 6}}, 1000);
  EXPECT_EQ(copy_of(sum_first.decode(deflated(with_sum(data)), 0)), data);
}

TEST(ChunkEncoder, MakesWhatTheDecoderUndoes) {
  Bytes noise(1000);
  std::uint32_t state = 1;
  for (std::byte& one : noise) {
    state = state * 1664525U + 1013904223U;
    one = static_cast<std::byte>(state >> 24U);
  }
  for (const Filters& filters :
       {Filters{}, Filters{{Filter::Kind::deflate, 4}}, Filters{{Filter::Kind::shuffle, 8}},
        Filters{{Filter::Kind::shuffle, 4}, {Filter::Kind::deflate, 9}, {Filter::Kind::fletcher32}},
        Filters{{Filter::Kind::fletcher32}, {Filter::Kind::deflate, 1}},
        Filters{{Filter::Kind::deflate, 0}}}) {
    ChunkEncoder encoder(filters);
    ChunkDecoder decoder(filters, 1000);
    for (const Bytes& data : {numbers(1000), noise, Bytes(1000)}) {
      StoredChunk stored;
      encoder.encode(data, stored);
      EXPECT_LE(stored.bytes.size(), data.size() + 4);
      EXPECT_EQ(copy_of(decoder.decode(stored.bytes, stored.mask)), data);
    }
  }
  ChunkEncoder encoder({{Filter::Kind::shuffle, 8}, {Filter::Kind::deflate, 4}});
  StoredChunk stored;
  encoder.encode(noise, stored);
  EXPECT_EQ(stored.mask, 2U);  // as it is: deflate does not make it smaller
}

TEST(ChunkDecoder, TakesTheChecksumsOfOldVersions) {
  Bytes stored = with_sum(numbers(1000));
  std::swap(stored[1000], stored[1001]);
  std::swap(stored[1002], stored[1003]);
  ChunkDecoder decoder({{Filter::Kind::fletcher32}}, 1000);
  EXPECT_EQ(damage_of(decoder, stored, 0), "");
}

TEST(ChunkDecoder, RefusesWrongLengthsAndDamagedBytes) {
  const Bytes data = numbers(1000);
  ChunkDecoder decoder({{Filter::Kind::deflate, 6}, {Filter::Kind::fletcher32}}, 1000);
  EXPECT_EQ(damage_of(decoder, with_sum(deflated(numbers(999))), 0),
            "decodes to 999 bytes, 1000 are required");
  EXPECT_EQ(damage_of(decoder, with_sum(deflated(numbers(1001))), 0),
            "decodes to more than 1000 bytes, 1000 are required");
  EXPECT_EQ(damage_of(decoder, numbers(999), 3), "decodes to 999 bytes, 1000 are required");
  EXPECT_EQ(damage_of(decoder, numbers(3), 0), "decodes to 3 bytes, 1004 are required");
  EXPECT_EQ(damage_of(decoder, with_sum(numbers(40)), 0), "cannot be decompressed");
  Bytes stored = with_sum(deflated(data));
  stored[20] ^= std::byte{1};
  EXPECT_EQ(damage_of(decoder, stored, 0), "does not match its Fletcher32 checksum");
  Bytes torn = deflated(data);
  torn.resize(torn.size() / 2);
  EXPECT_NE(damage_of(decoder, torn, 2), "");
}

}  // namespace
}  // namespace tessera::io
