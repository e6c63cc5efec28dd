#include "kernels/transpose/checksum.hpp"

#include <gtest/gtest.h>

#include "kernels/transpose/checksum_rows.hpp"
#include "kernels/transpose/records_test.hpp"
#include "kernels/transpose/variants.hpp"

namespace tessera::transpose {
namespace {

constexpr std::uint64_t seed = 42;

/// Returns the checksum by definition, element by element.
std::uint64_t by_definition(const ConstRecords& m, const Position& position) {
  std::uint64_t sum = 0;
  for (index_t i = 0; i < m.rows; ++i) {
    for (index_t j = 0; j < m.cols; ++j) {
      std::uint64_t word = 0;
      for (index_t done = 0; done < m.bytes; done += 8) {
        std::uint64_t next = 0;
        std::memcpy(&next, m.at(i, j) + done,
                    static_cast<std::size_t>(std::min<index_t>(8, m.bytes - done)));
        word = done == 0 ? next : mix64(word) ^ next;
      }
      const index_t row = position.row + i;
      const index_t col = position.col + j;
      sum += mix64(word ^ (position.indices == Indices::swapped
                               ? row_key(seed, col) + col_key(seed, row)
                               : row_key(seed, row) + col_key(seed, col)));
    }
  }
  return sum;
}

TEST(Checksum, MatchesItsDefinitionForEveryShapeAndRecordSize) {
  for (const index_t bytes : {1, 2, 3, 4, 8, 12, 16, 24, 64}) {
    for (const auto& [rows, cols] : {std::pair<index_t, index_t>{0, 4},
                                     {1, 1},
                                     {7, 9},
                                     {33, 65},
                                     {2, 8195},
                                     {1, 70001},
                                     {300, 301}}) {
      Fenced a(rows, cols, cols + 2, bytes, 1);
      a.fill(11);
      for (const Indices indices : {Indices::as_stored, Indices::swapped}) {
        const Position position{1000003, 17, indices};
        EXPECT_EQ(checksum(a.view(), position, seed, 2), by_definition(a.view(), position))
            << bytes;
      }
    }
  }
}

TEST(Checksum, RowsAreTheSameOnEveryInstructionSetHere) {
  Fenced a(1, 131, 131, 64);
  a.fill(12);
  std::vector<std::uint64_t> keys(131);
  for (index_t j = 0; j < 131; ++j) keys[static_cast<std::size_t>(j)] = col_key(seed, j);
  for (int which = 0; which <= static_cast<int>(machine::isa()); ++which) {
    for (const index_t bytes : {1, 2, 4, 8, 16, 40}) {
      EXPECT_EQ(checksum_row(static_cast<machine::Isa>(which))(a.view().data, 131, bytes,
                                                               row_key(seed, 3), keys.data()),
                by_definition({a.view().data, 1, 131, 131, bytes}, {3, 0}));
    }
  }
}

TEST(Checksum, DoesNotDependOnTheDistribution) {
  Fenced a(60, 70, 70, 8);
  a.fill(13);
  const std::uint64_t whole = checksum(a.view(), {}, seed);
  std::uint64_t parts = 0;
  for (const index_t i : {0, 25}) {
    for (const index_t j : {0, 41}) {
      const index_t m = i == 0 ? 25 : 35;
      const index_t n = j == 0 ? 41 : 29;
      parts += checksum(a.view().block(i, j, m, n), {i, j}, seed);
    }
  }
  EXPECT_EQ(parts, whole);
}

TEST(Checksum, OfTheTransposeWithSwappedIndicesIsThatOfTheOriginal) {
  Fenced a(61, 130, 130, 8);
  Fenced b(130, 61, 61, 8);
  a.fill(14);
  naive(a.view(), b.view(), {.threads = 1});
  EXPECT_EQ(checksum(b.view(), {0, 0, Indices::swapped}, seed), checksum(a.view(), {}, seed));
  EXPECT_NE(checksum(b.view(), {}, seed), checksum(a.view(), {}, seed));
}

TEST(Checksum, SeesSwappedDoubledAndAlteredElements) {
  Fenced a(40, 40, 40, 8);
  a.fill(15);
  const std::uint64_t right = checksum(a.view(), {}, seed);
  Fenced swapped = a;
  for (int k = 0; k < 8; ++k) std::swap(swapped.view().at(3, 5)[k], swapped.view().at(3, 6)[k]);
  EXPECT_NE(checksum(swapped.view(), {}, seed), right);
  Fenced doubled = a;
  std::memcpy(doubled.view().at(9, 9), doubled.view().at(9, 8), 8);
  EXPECT_NE(checksum(doubled.view(), {}, seed), right);
  Fenced altered = a;
  altered.view().at(39, 39)[7] ^= std::byte{0x80};
  EXPECT_NE(checksum(altered.view(), {}, seed), right);
}

}  // namespace
}  // namespace tessera::transpose
