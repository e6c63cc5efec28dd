// Every variant of the table against the definition; the leaves of every instruction set; the index
// remappings.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records_test.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/gpu.hpp"
#include "machine/topology.hpp"

namespace tessera::transpose {
namespace {

struct Shape {
  index_t rows, cols;
};
constexpr Shape shapes[] = {{0, 0},    {0, 5},     {5, 0},      {1, 1},      {1, 7},
                            {7, 1},    {2, 3},     {8, 8},      {15, 16},    {16, 15},
                            {17, 16},  {31, 33},   {63, 64},    {64, 64},    {65, 64},
                            {64, 65},  {127, 129}, {128, 128},  {129, 127},  {131, 257},
                            {3, 1009}, {1009, 3},  {100, 1000}, {1000, 100}, {300, 511}};

/// Returns the out-of-place rows that this machine can run.
std::vector<Variant> usable() {
  std::vector<Variant> rows;
  const bool gpu = !machine::gpus().devices.empty();
  for (const Variant& row : variants()) {
    if (row.out_of_place != nullptr && (row.space == Space::host || gpu)) rows.push_back(row);
  }
  return rows;
}

void expect_transposed(const Variant& variant, const Shape& shape, index_t bytes, index_t pad,
                       index_t skew, const Tuning& tuning) {
  Fenced a(shape.rows, shape.cols, shape.cols + pad, bytes, skew);
  Fenced b(shape.cols, shape.rows, shape.rows + pad, bytes, skew);
  a.fill(7);
  b.fill(8);
  const Fenced before = a;
  variant.out_of_place(a.view(), b.view(), tuning);
  EXPECT_EQ(differences(a.view(), b.view()), 0)
      << variant.name << " " << shape.rows << "x" << shape.cols << " bytes " << bytes << " pad "
      << pad << " skew " << skew;
  EXPECT_EQ(b.spoiled(), 0) << variant.name << " " << shape.rows << "x" << shape.cols << " bytes "
                            << bytes;
  const ConstRecords old = before.view();
  for (index_t i = 0; i < shape.rows; ++i) {
    ASSERT_EQ(
        std::memcmp(old.at(i, 0), a.view().at(i, 0), static_cast<std::size_t>(shape.cols * bytes)),
        0);
  }
}

TEST(Variants, OfTheDeviceAreAmongThoseTestedHere) {
  const auto on_device = [](const Variant& row) { return row.space == Space::device; };
  if (std::ranges::any_of(variants(), on_device) && machine::gpus().devices.empty())
    GTEST_SKIP() << "device variants are not run: " << machine::gpus().reason;
}

TEST(Variants, TransposeEveryShapeAndRecordSize) {
  for (const Variant& variant : usable()) {
    for (const Shape& shape : shapes) {
      for (const index_t bytes : {1, 2, 4, 8, 16})
        expect_transposed(variant, shape, bytes, 0, 0, {.threads = 2});
    }
  }
}

TEST(Variants, TransposeOddRecordSizes) {
  for (const Variant& variant : usable()) {
    for (const index_t bytes : {3, 5, 6, 7, 12, 17, 24, 31, 32, 40, 48, 63, 64}) {
      expect_transposed(variant, {37, 53}, bytes, 3, 1, {.threads = 2});
    }
  }
}

TEST(Variants, KeepPaddingAndAcceptAnyAlignment) {
  for (const Variant& variant : usable()) {
    for (const index_t bytes : {1, 2, 4, 8, 16}) {
      for (const index_t pad : {1, 8, 61}) {
        for (const index_t skew : {0, 1, 4, 8, 16, 48}) {
          expect_transposed(variant, {67, 130}, bytes, pad, skew, {.threads = 2});
        }
      }
    }
  }
}

TEST(Variants, TransposeWhatTheLastCacheHolds) {
  const Variant& variant = *find_variant(variants(), "cache_oblivious");
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (const int threads : {1, 2, 3}) {
      expect_transposed(variant, {1001, 1'500'000 / 1000 / bytes}, bytes, 0, 0,
                        {.threads = threads});
      expect_transposed(variant, {1'500'000 / 70 / bytes, 71}, bytes, 1, bytes,
                        {.threads = threads});
    }
  }
}

TEST(Variants, TransposeWhatExceedsTheCaches) {
  // Streamed results: rows of b on lines, off lines by the same amount, off lines by any amount,
  // short and contiguous, and not even aligned to records.
  const Variant& variant = *find_variant(variants(), "cache_oblivious");
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    const index_t cols = std::max<index_t>(4'500'000, machine::caches().l3 / 4) / 1024 / bytes + 7;
    for (const index_t skew : {index_t{0}, bytes})
      expect_transposed(variant, {1024, cols}, bytes, 0, skew, {.threads = 2});
    expect_transposed(variant, {1025, cols}, bytes, 2, 3, {.threads = 2});
    expect_transposed(variant, {101, 10 * cols}, bytes, 0, 0, {.threads = 2});
    expect_transposed(variant, {10 * cols, 101}, bytes, 0, 0, {.threads = 2});
    expect_transposed(variant, {257, 4 * cols}, bytes, 0, bytes, {.threads = 3});
  }
}

TEST(Variants, HonourTheirTuning) {
  for (const Variant& variant : usable()) {
    for (const index_t size : {1, 5, 64, 1000}) {
      for (const Order order : {Order::rows, Order::zigzag, Order::diagonal}) {
        expect_transposed(variant, {97, 61}, 8, 0, 0,
                          {.tile = size, .order = order, .column_width = size, .threads = 3});
      }
    }
  }
}

TEST(Variants, OfTheDeviceTransposeWhatItDoesNotHold) {
  for (const Variant& variant : usable()) {
    if (variant.space == Space::host) continue;
    const auto expect_within = [&](index_t memory, const Shape& shape) {
      for (const index_t bytes : {1, 4, 8, 12, 16})
        expect_transposed(variant, shape, bytes, 3, 1, {.threads = 2, .device_memory = memory});
    };
    expect_within(100, {1, 1});
    expect_within(100, {7, 5});
    for (const Shape& shape : {Shape{300, 511}, Shape{1009, 3}, Shape{2, 4001}, Shape{640, 640}}) {
      expect_within(40'000, shape);
      expect_within(600'000, shape);
    }
  }
}

TEST(Variants, HaveTheReferenceFirstAndABest) {
  EXPECT_EQ(variants().front().name, "naive");
  const Fenced a(5, 5, 5, 8);
  Fenced b(5, 5, 5, 8);
  EXPECT_NE(best(a.view(), b.view()).out_of_place, nullptr);
  std::set<std::string_view> names;
  for (const Variant& variant : variants()) {
    EXPECT_TRUE(names.insert(variant.name).second);
    EXPECT_NE(variant.out_of_place == nullptr, variant.in_place == nullptr) << variant.name;
  }
}

/// Expects correct leaves of every instruction set for a shape, including strips that end inside a
/// square.
void expect_leaf_right(const Shape& shape, index_t bytes, Store store, index_t ld, index_t skew,
                       Ahead ahead = Ahead::first_level) {
  for (int which = 0; which <= static_cast<int>(machine::isa()); ++which) {
    const LeafSet& set = leaf_set(static_cast<machine::Isa>(which));
    for (const index_t strip : {index_t{64}, index_t{1} << 40}) {
      Fenced a(shape.rows, shape.cols, shape.cols, bytes, 8);
      Fenced b(shape.cols, shape.rows, ld, bytes, skew);
      a.fill(3);
      const ConstRecords from = a.view();
      const Records to = b.view();
      set.transpose({from.data, from.stride(), to.data, to.stride(), shape.rows, shape.cols, bytes,
                     store, strip, ahead});
      set.fence();
      EXPECT_EQ(differences(from, to), 0)
          << which << " " << shape.rows << "x" << shape.cols << " of " << bytes << " strips of "
          << strip << " skew " << skew;
      EXPECT_EQ(b.spoiled(), 0);
    }
  }
}

TEST(Leaf, IsRightOnEveryInstructionSetHere) {
  for (const Shape& shape : shapes) {
    for (const index_t bytes : {1, 2, 4, 8, 16}) {
      expect_leaf_right(shape, bytes, Store::cached, shape.rows, 0);
      for (const Ahead ahead : {Ahead::nothing, Ahead::first_level, Ahead::second_level})
        expect_leaf_right(shape, bytes, Store::streaming, round_up(shape.rows, 64), 0, ahead);
    }
  }
}

/// Expects correct swaps of blocks of down x right squares in a larger matrix, on both sides of the
/// diagonal or on it.
void expect_swap_right(index_t bytes, index_t down, index_t right, bool diagonal,
                       Prefetches prefetches) {
  const index_t side = line_bytes / bytes, n = (down + right + 1) * side, rows = down * side;
  for (int which = 0; which <= static_cast<int>(machine::isa()); ++which) {
    SCOPED_TRACE(std::to_string(bytes) + " on " + std::to_string(which));
    Fenced before(n, n, n + 1, bytes, 8), after(n, n, n + 1, bytes, 8);
    before.fill(5);
    after.fill(5);
    const Records a = before.view(), b = after.view();
    const index_t j = diagonal ? 0 : rows, cols = diagonal ? rows : right * side;
    leaf_set(static_cast<machine::Isa>(which))
        .swap({b.at(0, j), b.at(j, 0), b.stride(), rows, cols, bytes, prefetches});
    for (index_t row = 0; row < n; ++row) {
      for (index_t col = 0; col < n; ++col) {
        const bool upper = row < rows && col >= j && col < j + cols,
                   lower = col < rows && row >= j && row < j + cols;
        const std::byte* const want = upper || lower ? a.at(col, row) : a.at(row, col);
        ASSERT_EQ(std::memcmp(b.at(row, col), want, static_cast<std::size_t>(bytes)), 0)
            << row << " " << col;
      }
    }
    EXPECT_EQ(after.spoiled(), 0);
  }
}

TEST(Leaf, SwapsSquaresOnEveryInstructionSetHere) {
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (const Prefetches prefetches :
         {Prefetches::nothing, Prefetches::lower, Prefetches::both, Prefetches::both_far}) {
      expect_swap_right(bytes, 1, 2, false, prefetches);
      expect_swap_right(bytes, 3, 1, false, prefetches);
      expect_swap_right(bytes, 2, 0, true, prefetches);
    }
  }
}

TEST(Leaf, TurnsNarrowMatrices) {
  for (const index_t bytes : {1, 2, 4, 8, 16}) {
    for (index_t narrow = 1; narrow <= 19; ++narrow) {
      for (const index_t wide : {5, 63, 64, 67, 151, 331}) {
        for (const index_t pad : {0, 1}) {  // rows of b contiguous, and not
          expect_leaf_right({narrow, wide}, bytes, Store::cached, narrow + pad, 3);
          expect_leaf_right({wide, narrow}, bytes, Store::cached, wide + pad, 3);
        }
      }
    }
  }
}

TEST(Leaf, JoinsShortRows) {
  for (const index_t bytes : {2, 4, 8, 16}) {
    for (index_t rows = line_bytes / bytes; joins_rows(rows, bytes); rows += bytes < 8 ? 9 : 1) {
      for (const index_t cols : {1, 5, 16, 63, 64, 67, 151, 331}) {
        for (const index_t skew : {0, 3, 8, 63})
          expect_leaf_right({rows, cols}, bytes, Store::joined, rows, skew);
      }
    }
  }
}

TEST(Leaf, CarriesWhatFillsNoLine) {
  for (const Shape& shape : shapes) {
    for (const index_t bytes : {1, 2, 4, 8, 16}) {
      for (const index_t skew : {0, 4, 8, 63}) {
        for (const Ahead ahead : {Ahead::first_level, Ahead::second_level})
          expect_leaf_right(shape, bytes, Store::carried, shape.rows, skew, ahead);
        expect_leaf_right(shape, bytes, Store::carried, round_up(shape.rows, 64) + 1, skew);
      }
    }
  }
  for (const index_t cols :
       {1007, 1008, 1023, 1024, 1071, 1072, 2300})  // around the number of columns carried at a
                                                    // time
    for (const index_t bytes : {1, 8})
      expect_leaf_right({131, cols}, bytes, Store::carried, 133, 8);
}

TEST(Leaf, StreamsBytesFromAnywhereToAnywhere) {
  for (int which = 0; which <= static_cast<int>(machine::isa()); ++which) {
    const LeafSet& set = leaf_set(static_cast<machine::Isa>(which));
    for (const index_t skew : {0, 1, 32, 63}) {
      for (const index_t count : {0, 1, 31, 63, 64, 65, 127, 500}) {
        Fenced a(1, count, count, 1, 5);
        Fenced b(count, 1, 1, 1, skew);
        a.fill(4);
        set.stream(b.view().data, a.view().data, count);
        set.fence();
        EXPECT_EQ(differences(a.view(), b.view()), 0);
        EXPECT_EQ(b.spoiled(), 0);
      }
    }
  }
}

TEST(Remap, OrdersVisitEveryCellOnce) {
  for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{3, 7}, Shape{7, 3}, Shape{6, 9}}) {
    std::set<std::pair<index_t, index_t>> seen[3];
    for (index_t p = 0; p < shape.rows * shape.cols; ++p) {
      const Cell cells[] = {row_order(p, shape.cols), zigzag_order(p, shape.cols),
                            diagonal_order(p, shape.rows, shape.cols)};
      for (int k = 0; k < 3; ++k) {
        EXPECT_TRUE(cells[k].i >= 0 && cells[k].i < shape.rows && cells[k].j >= 0 &&
                    cells[k].j < shape.cols);
        EXPECT_TRUE(seen[k].insert({cells[k].i, cells[k].j}).second) << k;
      }
    }
  }
}

TEST(Walks, ColumnsAreStripsWalkedRowByRow) {
  std::vector<std::pair<index_t, index_t>> cells, want;
  walk_columns({0, 0, 5, 11}, 4, [&](index_t i, index_t j) { cells.emplace_back(i, j); });
  for (const index_t left : {0, 4, 8}) {
    for (index_t i = 0; i < 5; ++i)
      for (index_t j = left; j < std::min<index_t>(left + 4, 11); ++j) want.emplace_back(i, j);
  }
  EXPECT_EQ(cells, want);
}

TEST(Remap, ZigzagNeighboursTouchAndDiagonalsShareNoRow) {
  for (index_t p = 1; p < 35; ++p) {
    const Cell x = zigzag_order(p - 1, 7);
    const Cell y = zigzag_order(p, 7);
    EXPECT_EQ(std::abs(x.i - y.i) + std::abs(x.j - y.j), 1);
    if (p % 5 == 0) continue;
    const Cell u = diagonal_order(p - 1, 5, 7);
    const Cell v = diagonal_order(p, 5, 7);
    EXPECT_TRUE(u.i != v.i && u.j != v.j);
  }
}

}  // namespace
}  // namespace tessera::transpose
