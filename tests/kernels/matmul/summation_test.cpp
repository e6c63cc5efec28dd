// Fixed order of summation: the bits of C are independent of how the work is split.

#include "kernels/matmul/summation.hpp"

#include <bit>
#include <random>

#include "kernels/matmul/cache_oblivious.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "matrices.hpp"

namespace tessera::matmul {
namespace {

TEST(Leaves, CoverKInWholeChunks) {
  for (const index_t k :
       {0, 1, 255, 256, 257, 1024, 2047, 2048, 5000, 16384, 65536, 100000, 1000000}) {
    const Leaves all = leaves<double>(k);
    EXPECT_EQ(all.begin(0), 0);
    EXPECT_EQ(all.begin(all.count()), k);
    EXPECT_LE(all.count(), 64);
    EXPECT_TRUE(std::has_single_bit(static_cast<std::uint64_t>(all.count()))) << k;
    for (index_t leaf = 0; leaf < all.count(); ++leaf) {
      EXPECT_EQ(all.begin(leaf) % chunk_length<double>, 0);
      EXPECT_EQ(all.at(all.begin(leaf)), leaf);
      EXPECT_TRUE(all.count() == 1 ||
                  all.begin(leaf + 1) - all.begin(leaf) > 3 * chunk_length<double>);
    }
  }
  EXPECT_EQ(leaves<double>(5000).at(1), -1);
}

TEST(Tree, SplitsAtTheLargestPowerOfTwoBelow) {
  EXPECT_EQ(left({0, 7}), (Subtree{0, 4}));
  EXPECT_EQ(right({0, 7}), (Subtree{4, 3}));
  EXPECT_EQ(left({4, 3}), (Subtree{4, 2}));
  EXPECT_EQ(right({4, 2}), (Subtree{5, 1}));
  EXPECT_EQ(left({0, 8}), (Subtree{0, 4}));
}

TEST(Tree, RangesAreCoveredByTheFewestNodes) {
  const Subtree root{0, 13};
  EXPECT_EQ(subtrees(root, 0, 13), std::vector<Subtree>{root});
  EXPECT_EQ(subtrees(root, 3, 8), (std::vector<Subtree>{{3, 1}, {4, 4}}));
  EXPECT_EQ(subtrees(root, 8, 13), (std::vector<Subtree>{{8, 5}}));
  EXPECT_TRUE(subtrees(root, 5, 5).empty());
  for (index_t begin = 0; begin <= 13; ++begin) {
    for (index_t end = begin; end <= 13; ++end) {
      index_t next = begin;
      for (const Subtree part : subtrees(root, begin, end)) {
        EXPECT_EQ(part.first, next);
        next += part.count;
      }
      EXPECT_EQ(next, end);
    }
  }
}

template <class T>
struct Operands {
  Shape3 s;
  Op op_a, op_b;
  Matrix<T> a, b, c0;

  Operands(Shape3 shape, Op opa, Op opb)
      : s(shape),
        op_a(opa),
        op_b(opb),
        a(stored<T>(s.m, s.k, opa,
                    [](index_t r, index_t c) { return Matrix<T>::random(r, c, 1); })),
        b(stored<T>(s.k, s.n, opb,
                    [](index_t r, index_t c) { return Matrix<T>::random(r, c, 2); })),
        c0(Matrix<T>::random(s.m, s.n, 3)) {}

  /// Returns the slices for rows [i, i+m), columns [j, j+n) and k in [p, q), into c.
  Gemm<T> slice(index_t i, index_t m, index_t j, index_t n, index_t p, index_t q, T beta,
                MatrixView<T> c) const {
    const auto a_slice =
        op_a == Op::none ? a.view().block(i, p, m, q - p) : a.view().block(p, i, q - p, m);
    const auto b_slice =
        op_b == Op::none ? b.view().block(p, j, q - p, n) : b.view().block(j, p, n, q - p);
    return {T(1.25), a_slice, op_a, b_slice, op_b, beta, c};
  }
  Matrix<T> product(int threads, T beta = T(-0.5)) const {
    Matrix<T> c = c0;
    machine::parallel(threads,
                      [&] { cache_oblivious(slice(0, s.m, 0, s.n, 0, s.k, beta, c.view())); });
    return c;
  }
};

template <class T>
class Summation : public ::testing::Test {};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Summation, Types);

template <class T, class F>
void for_each_op(const F& f) {
  for (const Op op_a : ops_of<T>()) {
    for (const Op op_b : ops_of<T>()) f(op_a, op_b);
  }
}

TYPED_TEST(Summation, GivesTheSameBitsOnAnyNumberOfThreads) {
  constexpr index_t chunk = chunk_length<TypeParam>;
  for (const Shape3 s :
       {Shape3{37, 41, 13 * chunk + 5}, Shape3{401, 263, chunk + 3}, Shape3{250, 1, 9 * chunk},
        Shape3{1, 1, 40 * chunk + 1}, Shape3{5, 600, 8 * chunk}}) {
    for_each_op<TypeParam>([&](Op op_a, Op op_b) {
      SCOPED_TRACE(text(s, op_a, op_b));
      const Operands<TypeParam> x(s, op_a, op_b);
      const auto want = x.product(1);
      EXPECT_TRUE(want.sentinels_stand());
      for (const int threads : {2, 3, 4})
        EXPECT_TRUE(same_bits(x.product(threads), want)) << threads;
    });
  }
}

TYPED_TEST(Summation, OfFewLongRowsAndColumnsHasTheSameBitsHoweverTheyAreReadAndShared) {
  constexpr index_t chunk = chunk_length<TypeParam>;
  for (const Shape3 s : {Shape3{128, 65, 3 * chunk + 1}, Shape3{203, 136, 5 * chunk},
                         Shape3{131, 256, 64 * chunk + 9}, Shape3{128, 512, 3 * chunk - 3}}) {
    SCOPED_TRACE(text(s, Op::none, Op::none));
    const Operands<TypeParam> x(s, Op::none, Op::none);
    Operands<TypeParam> turned(s, Op::transpose, Op::none);  // A stored transposed: always packed
    for (index_t i = 0; i < s.m; ++i) {
      for (index_t p = 0; p < s.k; ++p) turned.a.view()(p, i) = x.a(i, p);
    }
    const auto want = turned.product(1);
    EXPECT_TRUE(want.sentinels_stand());
    for (const int threads : {1, 2, 3}) EXPECT_TRUE(same_bits(x.product(threads), want)) << threads;
  }
}

TYPED_TEST(Summation, OfAVeryLongCInPiecesIsThatOfItsParts) {
  const Shape3 s{40001, 3, 700};  // packed as a whole it would exceed the working memory
  const Operands<TypeParam> x(s, Op::none, Op::none);
  const auto want = x.product(2);
  Matrix<TypeParam> c = x.c0;
  for (index_t i = 0; i < s.m; i += 9973) {
    const index_t m = std::min<index_t>(9973, s.m - i);
    cache_oblivious(x.slice(i, m, 0, s.n, 0, s.k, TypeParam(-0.5), c.view().rows_range(i, m)));
  }
  EXPECT_TRUE(same_bits(c, want));
}

TYPED_TEST(Summation, OperandsThatArePackedGiveTheBitsOfThoseReadWhereTheyLie) {
  for (const index_t n : {129, 200, 256, 300, 512, 520}) {
    const Shape3 s{137, n, 530};
    const Operands<TypeParam> x(s, Op::none, Op::none);
    Operands<TypeParam> turned(s, Op::none, Op::transpose);  // B stored transposed: always packed
    for (index_t p = 0; p < s.k; ++p) {
      for (index_t j = 0; j < n; ++j) turned.b.view()(j, p) = x.b(p, j);
    }
    for (const int threads : {1, 3}) {
      EXPECT_TRUE(
          same_bits(x.product(threads, TypeParam(0)), turned.product(threads, TypeParam(0))))
          << n;
      EXPECT_TRUE(same_bits(x.product(threads), turned.product(threads))) << n;
    }
  }
}

TYPED_TEST(Summation, GivesTheSameBitsForAnySplitOfMAndN) {
  constexpr index_t chunk = chunk_length<TypeParam>;
  std::mt19937 random(11);
  for_each_op<TypeParam>([&](Op op_a, Op op_b) {
    const Shape3 s{150, 131, 9 * chunk - 7};
    SCOPED_TRACE(text(s, op_a, op_b));
    const Operands<TypeParam> x(s, op_a, op_b);
    const auto want = x.product(1);
    for (int round = 0; round < 4; ++round) {
      const index_t i = static_cast<index_t>(random()) % (s.m + 1);
      const index_t j = static_cast<index_t>(random()) % (s.n + 1);
      Matrix<TypeParam> c = x.c0;
      for (const auto& [row, rows] : {std::pair{index_t{0}, i}, std::pair{i, s.m - i}}) {
        for (const auto& [col, cols] : {std::pair{index_t{0}, j}, std::pair{j, s.n - j}}) {
          cache_oblivious(x.slice(row, rows, col, cols, 0, s.k, TypeParam(-0.5),
                                  c.view().block(row, col, rows, cols)));
        }
      }
      EXPECT_TRUE(same_bits(c, want)) << i << " " << j;
    }
  });
}

/// Returns the product from the pieces computed by two owners of leaves [0, cut) and [cut, count).
template <class T>
Matrix<T> split_at(const Operands<T>& x, index_t cut) {
  const Leaves all = leaves<T>(x.s.k);
  std::vector<Subtree> parts = subtrees(whole(all), 0, cut);
  for (const Subtree part : subtrees(whole(all), cut, all.count())) parts.push_back(part);
  const auto is_part = [&](Subtree node) {
    return std::find(parts.begin(), parts.end(), node) != parts.end();
  };
  const auto take = [&](Subtree node) {
    Matrix<T> c = node.first == 0 ? x.c0 : Matrix<T>::filled(x.s.m, x.s.n, not_a_number<T>());
    subtree(x.slice(0, x.s.m, 0, x.s.n, all.begin(node.first), all.begin(node.first + node.count),
                    node.first == 0 ? T(-0.5) : T(0), c.view()),
            all, node);
    return c;
  };
  return combine(whole(all), is_part, take, [](Matrix<T> sum, const Matrix<T>& other) {
    add<T>(other.view(), sum.view());
    return sum;
  });
}

TYPED_TEST(Summation, GivesTheSameBitsForEverySplitOfKAtLeaves) {
  constexpr index_t chunk = chunk_length<TypeParam>;
  for_each_op<TypeParam>([&](Op op_a, Op op_b) {
    const Shape3 s{19, 27, 33 * chunk + 100};
    SCOPED_TRACE(text(s, op_a, op_b));
    const Operands<TypeParam> x(s, op_a, op_b);
    const auto want = x.product(1);
    const index_t count = leaves<TypeParam>(s.k).count();
    ASSERT_EQ(count, 8);
    for (index_t cut = 0; cut <= count; ++cut)
      EXPECT_TRUE(same_bits(split_at(x, cut), want)) << cut;
  });
}

TYPED_TEST(Summation, GivesTheSameBitsPanelByPanelInsideALeaf) {
  constexpr index_t chunk = chunk_length<TypeParam>;
  for_each_op<TypeParam>([&](Op op_a, Op op_b) {
    const Shape3 s{70, 59, 6 * chunk + 11};
    SCOPED_TRACE(text(s, op_a, op_b));
    const Operands<TypeParam> x(s, op_a, op_b);
    ASSERT_EQ(leaves<TypeParam>(s.k).count(), 1);
    const auto want = x.product(1);
    for (const index_t panel : {chunk, 2 * chunk, 5 * chunk}) {
      Matrix<TypeParam> c = x.c0;
      for (index_t p = 0; p < s.k; p += panel) {
        chain(x.slice(0, s.m, 0, s.n, p, std::min(s.k, p + panel),
                      p == 0 ? TypeParam(-0.5) : TypeParam(1), c.view()));
      }
      EXPECT_TRUE(same_bits(c, want)) << panel;
    }
  });
}

bool minus_zero(float x) { return x == 0 && std::signbit(x); }
bool minus_zero(double x) { return x == 0 && std::signbit(x); }
template <class T>
bool minus_zero(Complex<T> x) {
  return minus_zero(x.re);
}

TYPED_TEST(Summation, OfNothingNeedsNoMemory) {
  add<TypeParam>({nullptr, 3, 0, 0}, {nullptr, 3, 0, 0});
  add<TypeParam>({nullptr, 0, 3, 3}, {nullptr, 0, 3, 3});
}

TYPED_TEST(Summation, KeepsNegativeZeroWhenAlphaIsZeroAndKIsSplit) {
  constexpr index_t k = 8 * chunk_length<TypeParam>;
  const auto a = Matrix<TypeParam>::random(1, k, 1);
  const Leaves all = leaves<TypeParam>(k);
  TypeParam c[2] = {TypeParam(Real<TypeParam>(-0.0)), TypeParam(9)};
  for (const index_t node : {0, 1}) {
    subtree<TypeParam>(
        {TypeParam(0), a.view().cols_range(all.begin(node), all.begin(node + 1) - all.begin(node)),
         Op::none, a.view().cols_range(all.begin(node), all.begin(node + 1) - all.begin(node)),
         Op::transpose, node == 0 ? TypeParam(1) : TypeParam(0), matrix_view(c + node, 1, 1)},
        all, {node, 1});
  }
  EXPECT_TRUE(minus_zero(c[0] + c[1]));
}

TEST(Summation, GivesLargeResultsThatGoPastTheCachesTheBitsOfSmallOnes) {
  constexpr index_t m = 2056, n = 2048, k = 20, part = 514;  // slightly more than 32 MiB
  const auto a = Matrix<double>::random(m, k, 1), b = Matrix<double>::random(k, n, 2);
  machine::Buffer<double> large(m * n), small(part * n);
  const MatrixView<double> c{large.data(), m, n, n}, rows{small.data(), part, n, n};
  std::fill(large.begin(), large.end(), not_a_number<double>());
  machine::parallel(2,
                    [&] { cache_oblivious(Gemm<double>{.a = a.view(), .b = b.view(), .c = c}); });
  for (index_t i = 0; i < m; i += part) {
    cache_oblivious(Gemm<double>{.a = a.view().rows_range(i, part), .b = b.view(), .c = rows});
    for (index_t r = 0; r < part; ++r)
      ASSERT_TRUE(std::equal(&rows(r, 0), &rows(r, 0) + n, &c(i + r, 0))) << i + r;
  }
}

}  // namespace
}  // namespace tessera::matmul
