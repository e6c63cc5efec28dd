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
