// Products of f16 and bf16: against double with the derived bound, and against the f32 product of
// the same numbers, rounded once.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/foreign.hpp"
#include "base/random.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::matmul {
namespace {

constexpr std::uint16_t sentinel = 0x5a5aU, nan_bits = 0x7fffU;  // not a number in both types

/// A matrix of halves with gaps between its rows, and rows before and after, of sentinels.
template <class S>
struct Stored {
  index_t rows, cols, ld;
  std::vector<S> data;

  Stored(index_t m, index_t n, std::uint16_t bits)
      : rows(m), cols(n), ld(n + 3), data(static_cast<std::size_t>((m + 2) * ld)) {
    for (S& x : data) x.bits = sentinel;
    fill([&](index_t) { return S{std::bit_cast<S>(bits)}; });
  }
  Stored(index_t m, index_t n, int stream, Op op)
      : Stored(turns(op) ? n : m, turns(op) ? m : n, 0) {
    fill([&](index_t at) {
      return S(random_symmetric<float>(11, static_cast<std::uint64_t>(stream), at));
    });
  }
  template <class Make>
  void fill(const Make& make) {
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) view()(i, j) = make(i * cols + j);
  }
  [[nodiscard]] MatrixView<S> view() { return {data.data() + ld, rows, cols, ld}; }
  [[nodiscard]] MatrixView<const S> view() const { return {data.data() + ld, rows, cols, ld}; }
  /// Returns op(x)(i, p).
  [[nodiscard]] double at(Op op, index_t i, index_t p) const {
    return static_cast<double>(turns(op) ? view()(p, i) : view()(i, p));
  }
  [[nodiscard]] bool sentinels_remain() const {
    for (std::size_t at = 0; at < data.size(); ++at) {
      const auto row = static_cast<index_t>(at) / ld - 1, col = static_cast<index_t>(at) % ld;
      const bool inside = row >= 0 && row < rows && col < cols;
      if (!inside && data[at].bits != sentinel) return false;
    }
    return true;
  }
  [[nodiscard]] std::vector<float> as_floats() const {
    std::vector<float> out;
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j) out.push_back(static_cast<float>(view()(i, j)));
    return out;
  }
};

/// Half a unit in the last place, and half of the smallest number.
template <class S>
constexpr double unit = 0x1p-11;
template <>
constexpr double unit<BFloat16> = 0x1p-8;
template <class S>
constexpr double tiny = 0x1p-25;
template <>
constexpr double tiny<BFloat16> = 0x1p-134;

template <class S>
void check(index_t m, index_t n, index_t k, Op op_a, Op op_b, float alpha, float beta) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " " +
               std::to_string(static_cast<int>(op_a)) + std::to_string(static_cast<int>(op_b)));
  const Stored<S> a(m, k, 1, op_a), b(k, n, 2, op_b);
  const Stored<S> c0 = beta == 0 ? Stored<S>(m, n, nan_bits) : Stored<S>(m, n, 3, Op::none);
  Stored<S> c = c0;
  const Gemm<S> g{alpha, a.view(), op_a, b.view(), op_b, beta, c.view()};
  machine::parallel(3, [&] { best()(g); });
  EXPECT_TRUE(c.sentinels_remain());

  std::vector<float> wide_c(static_cast<std::size_t>(m * n), 0.0F);
  if (beta != 0) wide_c = c0.as_floats();
  std::vector<float> mixed_c = wide_c;
  const std::vector<float> wide_a = a.as_floats(), wide_b = b.as_floats();
  const Gemm<float> wide{alpha,
                         matrix_view(wide_a.data(), a.rows, a.cols),
                         op_a,
                         matrix_view(wide_b.data(), b.rows, b.cols),
                         op_b,
                         beta,
                         matrix_view(wide_c.data(), m, n)};
  cache_oblivious(wide);
  const Gemm<float, S> mixed{
      alpha, a.view(), op_a, b.view(), op_b, beta, matrix_view(mixed_c.data(), m, n)};
  machine::parallel(2, [&] { best()(mixed); });

  for (index_t i = 0; i < m; ++i) {
    for (index_t j = 0; j < n; ++j) {
      double want = beta == 0 ? 0 : beta * static_cast<double>(c0.view()(i, j));
      double magnitude = std::abs(want);
      for (index_t p = 0; p < k; ++p) {
        const double term = alpha * a.at(op_a, i, p) * b.at(op_b, p, j);
        want += term;
        magnitude += std::abs(term);
      }
      // Each of k + 3 operations of the sum in f32 is off by 2^-24; then c is rounded.
      const double of_sum = static_cast<double>(k + 3) * 0x1p-24 * 1.01 * magnitude + 0x1p-149;
      const double bound = of_sum + unit<S> * (std::abs(want) + of_sum) + tiny<S>;
      const S got = std::as_const(c).view()(i, j);
      ASSERT_LE(std::abs(static_cast<double>(got) - want), bound) << i << ' ' << j;
      const float sum = wide.c(i, j);
      ASSERT_EQ(got.bits, S(sum).bits) << i << ' ' << j;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(mixed.c(i, j)), std::bit_cast<std::uint32_t>(sum));
    }
  }
}

template <class S>
class Halves : public ::testing::Test {};
using Types = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Halves, Types);

TYPED_TEST(Halves, ProductsRoundTheSumInFloatOnce) {
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      for (const auto& [m, n, k] : std::vector<std::array<index_t, 3>>{{1, 1, 1},
                                                                       {1, 7, 5},
                                                                       {9, 1, 4},
                                                                       {7, 23, 11},
                                                                       {8, 48, 16},
                                                                       {9, 49, 17},
                                                                       {31, 33, 65}})
        check<TypeParam>(m, n, k, op_a, op_b, 1, 0);
      for (int draw = 0; draw < 6; ++draw) {
        const auto side = [&](std::uint64_t which, index_t most) {
          return 1 + static_cast<index_t>(random_bits(5, which, draw) %
                                          static_cast<std::uint64_t>(most));
        };
        check<TypeParam>(side(1, 150), side(2, 250), side(3, 700), op_a, op_b, 0.75F,
                         draw % 2 == 0 ? 0.0F : -1.3F);
      }
    }
  }
  check<TypeParam>(5, 7, 4500, Op::none, Op::none, 1, 1);  // several leaves of k
  check<TypeParam>(2, 3, 9001, Op::transpose, Op::transpose, 2, 0);
}

TYPED_TEST(Halves, WithNothingToMultiplyAreScaled) {
  check<TypeParam>(0, 5, 3, Op::none, Op::none, 1, 0);
  check<TypeParam>(5, 0, 3, Op::none, Op::none, 1, 1);
  check<TypeParam>(6, 5, 0, Op::none, Op::none, 1, 0);
  check<TypeParam>(6, 5, 0, Op::none, Op::transpose, 1, 0.3F);
  // alpha == 0 reads neither operand.
  Stored<TypeParam> c(3, 4, 1, Op::none);
  const Stored<TypeParam> before = c;
  const Stored<TypeParam> a(3, 2, nan_bits), b(2, 4, nan_bits);
  best()(Gemm<TypeParam>{.alpha = 0, .a = a.view(), .b = b.view(), .beta = 1, .c = c.view()});
  for (std::size_t at = 0; at < c.data.size(); ++at)
    ASSERT_EQ(c.data[at].bits, before.data[at].bits);
}

/// More rows than a piece of c has: pieces agree with the whole.
TYPED_TEST(Halves, TallAndWideProductsAreComputedInPieces) {
  const index_t wide = 4096 + 37, tall = (index_t{1} << 24) / 4096 + 5;
  Stored<TypeParam> a(tall, 1, 1, Op::none), b(1, wide, 2, Op::none), c(tall, wide, nan_bits);
  best()(Gemm<TypeParam>{.a = a.view(), .b = b.view(), .c = c.view()});
  EXPECT_TRUE(c.sentinels_remain());
  for (index_t i = 0; i < tall; i += 97) {
    for (index_t j = 0; j < wide; j += 59) {
      const float product = static_cast<float>(a.view()(i, 0)) * static_cast<float>(b.view()(0, j));
      ASSERT_EQ(c.view()(i, j).bits, TypeParam(product).bits) << i << ' ' << j;
    }
  }
}

/// Sums beyond the largest half are finite in float, and infinite only if the result is.
TEST(Half, ProductsOverflowAtTheEndOnly) {
  Stored<Half> a(1, 3, 0), b(3, 1, 0), c(1, 1, 0);
  const float values[] = {60000, 60000, -60000};
  for (int p = 0; p < 3; ++p) {
    a.view()(0, p) = Half(values[p]);
    b.view()(p, 0) = Half(1);
  }
  float sum = 0;
  const Gemm<Half> g{.a = a.view(), .b = b.view(), .c = c.view()};
  best()(g);
  EXPECT_EQ(static_cast<float>(c.view()(0, 0)), static_cast<float>(Half(60000)));
  b.view()(2, 0) = Half(0);
  best()(g);
  EXPECT_EQ(c.view()(0, 0).bits, 0x7c00U);
  best()(Gemm<float, Half>{.a = a.view(), .b = b.view(), .c = {&sum, 1, 1, 1}});
  EXPECT_EQ(sum, 120000 + 2 * (static_cast<float>(Half(60000)) - 60000));
}

TEST(Half, OtherKernelsRefuseProductsOfHalves) {
  Stored<BFloat16> a(2, 2, 1, Op::none), c(2, 2, 0);
  int refused = 0;
  for (const Variant& variant : variants()) {
    EXPECT_EQ((variant.multiplies<BFloat16>()), variant.name == best().name);
    if (variant.multiplies<BFloat16>()) continue;
    try {
      variant(Gemm<BFloat16>{.a = a.view(), .b = a.view(), .c = c.view()});
      ADD_FAILURE() << variant.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("does not multiply bf16"), std::string::npos);
      ++refused;
    }
  }
  EXPECT_GE(refused, 7);
}

#ifdef TESSERA_HAS_FLOAT16
/// The compiler's own half is taken as it is.
TEST(Half, ProductsTakeTheCompilersType) {
  const _Float16 a[] = {1, 2, 3, 4}, b[] = {0.5, -1, 0.25, 8};
  _Float16 c[] = {1, 1, 1, 1};
  float in_float[] = {0, 0, 0, 0};
  best()(Gemm<_Float16>{
      .alpha = 2, .a = {a, 2, 2, 2}, .b = {b, 2, 2, 2}, .beta = 0.5F, .c = {c, 2, 2, 2}});
  best()(Gemm<float, _Float16>{.a = {a, 2, 2, 2}, .b = {b, 2, 2, 2}, .c = {in_float, 2, 2, 2}});
  const float want[] = {1, 15, 2.5, 29};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(in_float[i], want[i]);
    EXPECT_EQ(static_cast<float>(c[i]), 2 * want[i] + 0.5F);
  }
}
#endif

}  // namespace
}  // namespace tessera::matmul
