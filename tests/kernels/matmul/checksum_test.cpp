#include "kernels/matmul/checksum.hpp"

#include "kernels/matmul/checksum_leaf.hpp"
#include "machine/fork_join.hpp"
#include "matrices.hpp"

namespace tessera::matmul {
namespace {

template <class T>
class Checksum : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Checksum, Types);

template <class T, class Run>
void check(index_t m, index_t k, index_t count, index_t bounds, Op op, const Run& run) {
  SCOPED_TRACE(text({m, count, k}, op, Op::none) + " bounds " + std::to_string(bounds));
  const Matrix<T> a =
      stored<T>(m, k, op, [](index_t r, index_t c) { return Matrix<T>::random(r, c, 1); });
  const auto x = Matrix<double>::random(count, k, 2);
  auto abs_x = Matrix<double>::random(count, k, 3);
  for (index_t v = 0; v < count; ++v) {
    for (index_t p = 0; p < k; ++p) abs_x.view()(v, p) = std::abs(abs_x(v, p));
  }
  auto y = Matrix<double>::random(count, m, 4);
  auto bound = Matrix<double>::random(count, m, 5);
  const auto y0 = y;
  const auto bound0 = bound;
  run(a.view(), op,
      Vectors{x.view(), abs_x.view().rows_range(0, bounds), y.view(),
              bound.view().rows_range(0, bounds)});
  const auto element = operand(a.view(), op);
  for (index_t v = 0; v < count; ++v) {
    for (index_t i = 0; i < m; ++i) {
      double want = y0(v, i);
      double want_bound = bound0(v, i);
      for (index_t p = 0; p < k; ++p) {
        want += static_cast<double>(element(i, p)) * x(v, p);
        if (v < bounds) want_bound += std::abs(static_cast<double>(element(i, p))) * abs_x(v, p);
      }
      ASSERT_NEAR(y(v, i), want, 1e-13 * static_cast<double>(k + 1)) << v << " " << i;
      ASSERT_NEAR(bound(v, i), want_bound, 1e-13 * static_cast<double>(k + 1)) << v << " " << i;
    }
  }
  EXPECT_TRUE(y.sentinels_stand());
  EXPECT_TRUE(bound.sentinels_stand());
}

TYPED_TEST(Checksum, AddsTheProductsWithAllVectorsAndTheirBounds) {
  const auto run = [](MatrixView<const TypeParam> a, Op op, const Vectors& vectors) {
    machine::parallel(3, [&] { multiply_vectors(a, op, vectors); });
  };
  for (const Op op : ops) {
    for (const auto& [m, k] : {std::pair{0, 5},
                               {5, 0},
                               {1, 1},
                               {1, 9},
                               {9, 1},
                               {7, 13},
                               {8, 16},
                               {33, 100},
                               {601, 37},
                               {37, 601},
                               {5, 40000}}) {
      for (index_t count = 1; count <= max_vectors; ++count) {
        for (const index_t bounds : {index_t{0}, count})
          check<TypeParam>(m, k, count, bounds, op, run);
      }
    }
  }
}

TYPED_TEST(Checksum, IsTheSameOnEveryInstructionSet) {
  for (const auto isa : {machine::Isa::baseline, machine::Isa::bits256, machine::Isa::bits512}) {
    if (!machine::supports(isa)) continue;
    const auto run = [&](MatrixView<const TypeParam> a, Op op, const Vectors& vectors) {
      const auto& kernels = checksum_kernels<TypeParam>(isa);
      (op == Op::none ? kernels.rows : kernels.columns)(a, vectors);
    };
    for (const Op op : ops) {
      for (index_t count = 1; count <= max_vectors; ++count) {
        for (const index_t bounds : {index_t{0}, count}) {
          check<TypeParam>(11, 45, count, bounds, op, run);
          check<TypeParam>(46, 6, count, bounds, op, run);
        }
      }
    }
  }
}

/// Returns the real matrix of twice the rows and columns, each number as (re, -im; im, re).
template <class T>
Matrix<double> embedded(const Matrix<Complex<T>>& a, Op op, index_t m, index_t k) {
  const auto element = operand(a.view(), op);
  Matrix<double> real(2 * m, 2 * k);
  const auto to = real.view();
  for (index_t i = 0; i < m; ++i) {
    for (index_t p = 0; p < k; ++p) {
      const Complex<T> x = element(i, p);
      to(i, p) = to(m + i, k + p) = x.re;
      to(m + i, p) = x.im;
      to(i, k + p) = -x.im;
    }
  }
  return real;
}

template <class T>
void check_complex(index_t m, index_t k, Op op) {
  SCOPED_TRACE(text({m, 1, k}, op, Op::none));
  const auto a = stored<Complex<T>>(
      m, k, op, [](index_t r, index_t c) { return Matrix<Complex<T>>::random(r, c, 1); });
  const auto x = Matrix<double>::random(2, k, 2);
  auto abs_x = Matrix<double>::random(2, k, 3);
  for (index_t v = 0; v < 2; ++v) {
    for (index_t p = 0; p < k; ++p) abs_x.view()(v, p) = std::abs(abs_x(v, p));
  }
  auto y = Matrix<double>::random(2, m, 4), bound = Matrix<double>::random(2, m, 5);
  const auto y0 = y, bound0 = bound;
  machine::parallel(2, [&] {
    multiply_vectors<Complex<T>>(a.view(), op,
                                 Vectors{x.view(), abs_x.view(), y.view(), bound.view()});
  });
  const auto real = embedded(a, op, m, k);
  for (index_t i = 0; i < 2 * m; ++i) {
    const index_t line = i / m;
    double want = y0(line, i % m), want_bound = bound0(line, i % m);
    for (index_t p = 0; p < 2 * k; ++p) {
      want += real(i, p) * x(p / k, p % k);
      want_bound += std::abs(real(i, p)) * abs_x(p / k, p % k);
    }
    ASSERT_NEAR(y(line, i % m), want, 1e-13 * static_cast<double>(2 * k + 1)) << i;
    ASSERT_NEAR(bound(line, i % m), want_bound, 1e-13 * static_cast<double>(2 * k + 1)) << i;
  }
  EXPECT_TRUE(y.sentinels_stand());
  EXPECT_TRUE(bound.sentinels_stand());
}

TEST(ComplexChecksum, IsThatOfTheRealMatrices) {
  for (const Op op : ops_of<Complex<double>>()) {
    for (const auto& [m, k] : {std::pair{1, 1}, {7, 13}, {33, 100}, {200, 9}}) {
      check_complex<float>(m, k, op);
      check_complex<double>(m, k, op);
    }
  }
}

}  // namespace
}  // namespace tessera::matmul
