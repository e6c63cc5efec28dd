#include "kernels/transpose/in_place.hpp"

#include <gtest/gtest.h>

#include "kernels/transpose/records_test.hpp"

namespace tessera::transpose {
namespace {

void expect_in_place(index_t rows, index_t cols, index_t bytes, int threads) {
  Fenced a(rows, cols, cols, bytes, 8);
  a.fill(5);
  const Fenced before = a;
  const Records m = a.view();
  for (const Variant& variant : variants()) {
    if (variant.in_place == nullptr) continue;
    variant.in_place(m.data, rows, cols, bytes, {.threads = threads});
    EXPECT_EQ(differences(before.view(), ConstRecords{m.data, cols, rows, rows, bytes}), 0)
        << variant.name << " " << rows << "x" << cols << " bytes " << bytes;
    EXPECT_EQ(a.spoiled(), 0);
    a = before;
  }
}

TEST(InPlace, TransposesEverySmallShape) {
  for (index_t rows = 0; rows <= 24; ++rows) {
    for (index_t cols = 0; cols <= 24; ++cols) expect_in_place(rows, cols, 8, 1);
  }
}

TEST(InPlace, TransposesSquaresAndRectanglesOfEveryRecordSize) {
  for (const index_t bytes : {1, 2, 3, 4, 8, 12, 16, 24, 64}) {
    for (const index_t n : {1, 31, 64, 65, 127, 130, 257}) expect_in_place(n, n, bytes, 2);
    expect_in_place(37, 91, bytes, 2);
    expect_in_place(91, 37, bytes, 2);
    expect_in_place(64, 256, bytes, 2);
    expect_in_place(300, 100, bytes, 2);
    expect_in_place(2, 1001, bytes, 2);
    expect_in_place(1001, 2, bytes, 2);
  }
}

/// Expects correct results of both methods for rectangles, with chunks of several sizes.
void expect_rectangle(index_t rows, index_t cols, index_t bytes, int threads) {
  Fenced a(rows, cols, cols, bytes, 8);
  a.fill(5);
  const Fenced before = a;
  const Records m = a.view();
  const auto expect = [&](const char* way, index_t run, index_t chunk) {
    EXPECT_EQ(differences(before.view(), ConstRecords{m.data, cols, rows, rows, bytes}), 0)
        << way << " " << run << " " << chunk << ": " << rows << "x" << cols << " bytes " << bytes;
    EXPECT_EQ(a.spoiled(), 0);
    a = before;
  };
  in_place_rectangle(m.data, rows, cols, bytes, {.threads = threads});
  expect("three passes", 0, 0);
  for (const index_t run : {1, 24, 100}) {
    for (const index_t chunk : {1, 1000, 1 << 20}) {
      in_place_chunks(m.data, rows, cols, bytes, {.threads = threads},
                      {.run = run, .chunk = chunk});
      expect("chunks", run, chunk);
    }
  }
}

TEST(InPlace, GoesByChunksOrInThreePasses) {
  for (index_t rows = 2; rows <= 13; ++rows)
    for (index_t cols = 2; cols <= 13; ++cols) expect_rectangle(rows, cols, 8, 1);
  for (const index_t bytes : {1, 4, 12, 16}) {
    for (const index_t length : {60, 97, 128}) {
      for (const index_t side : {2, 3, 16, 37}) {
        expect_rectangle(side, length, bytes, 2);
        expect_rectangle(length, side, bytes, 3);
      }
    }
  }
}

TEST(InPlace, ChunksMoveAlongMoreCyclesThanAreKnownAtOnce) {
  constexpr index_t side = 130, bytes = 8;  // 130 x 130 chunks of two: 8385 cycles of two
  const ChunkSizes sizes{.run = 1, .chunk = 2 * side * bytes};
  ASSERT_EQ(chunk_plan(side, 2 * side, bytes, sizes).k, side);
  for (const auto& [rows, cols] : {std::pair{side, 2 * side}, std::pair{2 * side, side}}) {
    Fenced a(rows, cols, cols, bytes, 8);
    a.fill(5);
    const Fenced before = a;
    const Records m = a.view();
    in_place_chunks(m.data, rows, cols, bytes, {.threads = 2}, sizes);
    EXPECT_EQ(differences(before.view(), ConstRecords{m.data, cols, rows, rows, bytes}), 0) << rows;
  }
}

TEST(InPlace, ChunksHaveNoRestWhereADivisorAllowsIt) {
  const ChunkPlan even = chunk_plan(100, 100000, 8);
  EXPECT_EQ(even.k * even.b, 100000);
  EXPECT_EQ(even.rest, 0);
  EXPECT_GE(even.b * 8, ChunkSizes{}.run);
  EXPECT_LE(100 * even.b * 8, ChunkSizes{}.chunk);
  EXPECT_TRUE(uses_chunks(even, 8, 64));
  EXPECT_FALSE(uses_chunks(chunk_plan(200000, 300000, 8), 8, 1));
  const ChunkPlan prime = chunk_plan(100, 99991, 8);
  EXPECT_EQ(prime.k * prime.b + prime.rest, 99991);
  EXPECT_LT(prime.rest, prime.b);
  const ChunkPlan thin = chunk_plan(2, 7, 8);  // all of it is one chunk
  EXPECT_EQ(thin.k, 1);
  EXPECT_EQ(thin.b, 7);
}

TEST(InPlace, SwapsASquareInsideALargerMatrix) {
  for (const index_t n : {1, 5, 64, 100, 131}) {
    Fenced a(n, n, n + 13, 8);
    a.fill(6);
    const Fenced before = a;
    in_place_square(a.view(), {.threads = 2});
    EXPECT_EQ(differences(before.view(), a.view()), 0);
    EXPECT_EQ(a.spoiled(), 0);
  }
}

}  // namespace
}  // namespace tessera::transpose
