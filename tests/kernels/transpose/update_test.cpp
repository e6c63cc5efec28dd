#include "kernels/transpose/update.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

/// Compares complex numbers with the definition, element by element; the column after the last is
/// unchanged.
template <class T>
void expect_complex_update(index_t rows, index_t cols, Op op, T alpha, T beta,
                           Conjugate conjugate) {
  using Number = std::complex<T>;
  const auto number = [](std::uint64_t stream, index_t at) {
    return Number{random_symmetric<T>(3, stream, 2 * at),
                  random_symmetric<T>(3, stream, 2 * at + 1)};
  };
  const index_t ld = (op == Op::none ? cols : rows) + 1;
  std::vector<Number> a(static_cast<std::size_t>((op == Op::none ? rows : cols) * ld));
  std::vector<Number> b(static_cast<std::size_t>(rows * (cols + 1)));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = number(1, static_cast<index_t>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = number(2, static_cast<index_t>(i));
  const auto old = b;
  const MatrixView<const Number> from{a.data(), op == Op::none ? rows : cols,
                                      op == Op::none ? cols : rows, ld};
  update(Update<Number>{alpha, from, op, beta, {b.data(), rows, cols, cols + 1}, conjugate},
         {.threads = 2});
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j <= cols; ++j) {
      const Number was = old[static_cast<std::size_t>(i * (cols + 1) + j)];
      const Number is = b[static_cast<std::size_t>(i * (cols + 1) + j)];
      Number x = j == cols ? was : op == Op::none ? from(i, j) : from(j, i);
      if (conjugate == Conjugate::yes) x = std::conj(x);
      const auto part = [&](T value, T before) {
        return beta == 0 ? alpha * value : alpha * value + beta * before;
      };
      const Number want =
          j == cols ? was : Number{part(x.real(), was.real()), part(x.imag(), was.imag())};
      ASSERT_EQ(is, want) << rows << "x" << cols << " at " << i << "," << j;
    }
  }
}

TYPED_TEST(UpdateOf, ComplexNumbersAreScaledAndConjugated) {
  using T = TypeParam;
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{1, 1}, {63, 65}, {67, 131}, {200, 3}}) {
    for (const Op op : {Op::none, Op::transpose}) {
      for (const Conjugate conjugate : {Conjugate::no, Conjugate::yes}) {
        expect_complex_update<T>(rows, cols, op, T{1}, T{0}, conjugate);
        expect_complex_update<T>(rows, cols, op, T{-2.5}, T{0.75}, conjugate);
      }
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

TYPED_TEST(UpdateOf, NothingOfAMatrixWithFactorZeroIsNeeded) {
  using T = TypeParam;
  for (const Op op : {Op::none, Op::transpose}) {
    std::vector<T> b(70 * 90, T(2));
    update(Update<T>{T(0),
                     {nullptr, op == Op::none ? 70 : 90, op == Op::none ? 90 : 70, 90},
                     op,
                     T(3),
                     {b.data(), 70, 90, 90}},
           {.threads = 2});
    EXPECT_EQ(std::count(b.begin(), b.end(), T(6)), 70 * 90);
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
