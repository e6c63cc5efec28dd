#include "kernels/transpose/update.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "kernels/transpose/combine.hpp"

namespace tessera::transpose {
namespace {

template <class T>
class UpdateOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(UpdateOf, Types);

template <class T>
void expect_update(index_t rows, index_t cols, Op op, T alpha, T beta) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const index_t pad = 3;
  const index_t a_rows = op == Op::none ? rows : cols;
  const index_t a_cols = op == Op::none ? cols : rows;
  std::vector<T> a(static_cast<std::size_t>(a_rows * (a_cols + pad)), nan);
  std::vector<T> b(static_cast<std::size_t>(rows * (cols + pad)), T{77});
  const MatrixView<T> from{a.data(), a_rows, a_cols, a_cols + pad};
  const MatrixView<T> to{b.data(), rows, cols, cols + pad};
  for (index_t i = 0; i < a_rows; ++i) {
    for (index_t j = 0; j < a_cols; ++j)
      from(i, j) = alpha == T{0} ? nan : random_symmetric<T>(1, 1, i * a_cols + j);
  }
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < cols; ++j)
      to(i, j) = beta == T{0} ? nan : random_symmetric<T>(1, 2, i * cols + j);
  }
  const std::vector<T> old = b;
  update(Update<T>{alpha, from, op, beta, to}, {.threads = 2});
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < cols + pad; ++j) {
      const T was = old[static_cast<std::size_t>(i * to.ld + j)];
      const T is = b[static_cast<std::size_t>(i * to.ld + j)];
      if (j >= cols) {
        ASSERT_EQ(is, was);
        continue;
      }
      const T x = alpha == T{0} ? T{0} : op == Op::none ? from(i, j) : from(j, i);
      const T want = alpha == T{0}  ? (beta == T{0} ? T{0} : beta * was)
                     : beta == T{0} ? alpha * x
                                    : alpha * x + beta * was;
      ASSERT_EQ(is, want) << rows << "x" << cols << " at " << i << "," << j;
    }
  }
}

TYPED_TEST(UpdateOf, EveryShapeOpAndFactorMatchesTheDefinitionExactly) {
  using T = TypeParam;
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{0, 3}, {1, 1}, {63, 65}, {64, 64}, {67, 131}, {200, 3}}) {
    for (const Op op : {Op::none, Op::transpose}) {
      for (const T alpha : {T(0), T(1), T(-1.3)}) {
        for (const T beta : {T(0), T(1), T(0.7)}) expect_update<T>(rows, cols, op, alpha, beta);
      }
    }
  }
}

TYPED_TEST(UpdateOf, RowsAreTheSameOnEveryInstructionSetHere) {
  using T = TypeParam;
  std::vector<T> a(37);
  std::vector<T> b(37);
  for (index_t i = 0; i < 37; ++i) {
    a[static_cast<std::size_t>(i)] = random_symmetric<T>(2, 1, i);
    b[static_cast<std::size_t>(i)] = random_symmetric<T>(2, 2, i);
  }
  for (int which = 0; which <= static_cast<int>(machine::isa()); ++which) {
    const CombineSet& set = combine_set(static_cast<machine::Isa>(which));
    std::vector<T> got = b;
    if constexpr (sizeof(T) == 4) {
      set.f32(T(1.1), a.data(), T(-0.3), got.data(), 37);
    } else {
      set.f64(T(1.1), a.data(), T(-0.3), got.data(), 37);
    }
    for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(got[i], T(1.1) * a[i] + T(-0.3) * b[i]);
  }
}

}  // namespace
}  // namespace tessera::transpose
