// Leaf kernels of every instruction set of this machine, for all edge sizes.

#include "kernels/matmul/leaf.hpp"

#include "kernels/matmul/checksum_leaf.hpp"
#include "machine/buffer.hpp"
#include "matrices.hpp"

namespace tessera::matmul {
namespace {

std::vector<machine::Isa> sets_here() {
  std::vector<machine::Isa> sets;
  for (const auto isa : {machine::Isa::baseline, machine::Isa::bits256, machine::Isa::bits512}) {
    if (machine::supports(isa)) sets.push_back(isa);
  }
  return sets;
}

template <class T>
class Leaf : public ::testing::Test {};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Leaf, Types);

struct Packed {
  bool a, b;
  index_t soon = 0;  ///< in k: prefetched for the next chunk
};

/// Computes c = 1.5 a b + beta c with each operand packed or read in place.
template <class T>
void multiply_into(const LeafKernels<T>& leaf, const Matrix<T>& a, const Matrix<T>& b,
                   MatrixView<T> c, index_t k, T beta, Packed packed, MatrixView<T> onto,
                   Store store) {
  const index_t m = c.rows;
  const index_t n = c.cols;
  std::vector<T> a_packed(static_cast<std::size_t>(round_up(m, leaf.mr) * k), not_a_number<T>());
  std::vector<T> b_packed(static_cast<std::size_t>(round_up(n, leaf.nr) * k), not_a_number<T>());
  leaf.pack_a(operand(a.view(), Op::none), m, k, a_packed.data());
  leaf.pack_b(operand(b.view(), Op::none), k, n, b_packed.data());
  leaf.multiply({.m = m,
                 .n = n,
                 .k = k,
                 .alpha = T(1.5),
                 .a = packed.a ? a_packed.data() : a.view().data,
                 .a_row = packed.a ? 1 : a.view().ld,
                 .a_step = packed.a ? leaf.mr : 1,
                 .a_sliver = leaf.mr * (packed.a ? k : a.view().ld),
                 .b = packed.b ? b_packed.data() : b.view().data,
                 .b_step = packed.b ? leaf.nr : b.view().ld,
                 .b_panel = packed.b ? leaf.nr * k : leaf.nr,
                 .beta = beta,
                 .c = c.data,
                 .ldc = c.ld,
                 .onto = onto.data,
                 .ldonto = onto.ld},
                {k, k + packed.soon}, store);
}

template <class T>
Matrix<T> multiplied(const LeafKernels<T>& leaf, const Matrix<T>& a, const Matrix<T>& b,
                     Matrix<T> c, index_t k, T beta, Packed packed, MatrixView<T> onto = {}) {
  multiply_into(leaf, a, b, c.view(), k, beta, packed, onto, Store::cached);
  return c;
}

TYPED_TEST(Leaf, MultipliesEveryEdgeOfTheMicroTileOnEverySet) {
  using T = TypeParam;
  for (const auto isa : sets_here()) {
    const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
    for (index_t m = 1; m <= 2 * leaf.mr + 1; ++m) {
      for (index_t n = 1; n <= 2 * leaf.nr + 1; ++n) {
        const index_t k = 1 + (m * n) % 37;
        const auto a = Matrix<T>::random(m, k, 1);
        const auto b = Matrix<T>::random(k, n, 2);
        const T beta = n % 2 == 0 ? T(0) : T(0.5);
        const auto c0 =
            n % 2 == 0 ? Matrix<T>::filled(m, n, not_a_number<T>()) : Matrix<T>::random(m, n, 3);
        auto c = multiplied(leaf, a, b, c0, k, beta, {true, true});
        ASSERT_TRUE(
            is_product({T(1.5), a.view(), Op::none, b.view(), Op::none, beta, c.view()}, c0))
            << machine::name(isa) << " " << m << " " << n;
        ASSERT_TRUE(c.sentinels_stand()) << machine::name(isa) << " " << m << " " << n;
        if (is_complex<T>) {  // packing separates the parts of B's numbers
          ASSERT_TRUE(same_bits(multiplied(leaf, a, b, c0, k, beta, {false, true}), c))
              << machine::name(isa) << " " << m << " " << n;
          continue;
        }
        for (const Packed other : {Packed{false, false}, Packed{false, false, 9},
                                   Packed{false, true}, Packed{true, false}}) {
          ASSERT_TRUE(same_bits(multiplied(leaf, a, b, c0, k, beta, other), c))
              << machine::name(isa) << " " << m << " " << n << " " << other.a << other.b;
        }
      }
    }
  }
}

TYPED_TEST(Leaf, TallTilesOfFewColumnsGiveTheBitsOfPackedOnes) {
  using T = TypeParam;
  if (is_complex<T>) GTEST_SKIP() << "complex operands are always packed";
  for (const auto isa : sets_here()) {
    const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
    for (const index_t m : {4, 31, 32, 33, 67, 100}) {
      for (const index_t n : {1, 2, 3, 4, 5, 7, 8, 10, 12, 18, 20, 23, 130}) {
        const index_t k = 60 + m % 7;
        const auto a = Matrix<T>::random(m, k, 1);
        const auto b = Matrix<T>::random(k, n, 2);
        const auto c0 = Matrix<T>::random(m, n, 3), sibling = Matrix<T>::random(m, n, 4);
        for (const T beta : {T(0), T(0.5)}) {
          const auto c = multiplied(leaf, a, b, c0, k, beta, {true, true});
          for (const index_t soon : {0, 512})
            EXPECT_TRUE(same_bits(multiplied(leaf, a, b, c0, k, beta, {false, false, soon}), c))
                << machine::name(isa) << " " << m << " " << n;
          auto got = sibling, want = sibling;
          (void)multiplied(leaf, a, b, c0, k, beta, {false, false}, got.view());
          (void)multiplied(leaf, a, b, c0, k, beta, {true, true}, want.view());
          EXPECT_TRUE(same_bits(got, want)) << machine::name(isa) << " " << m << " " << n;
        }
      }
    }
  }
}

TYPED_TEST(Leaf, StoresPastTheCachesTheBitsOfOtherStores) {
  using T = TypeParam;
  if (is_complex<T>) GTEST_SKIP() << "complex results are stored one way";
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  for (const auto isa : sets_here()) {
    const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
    for (index_t n = 1; n <= 2 * leaf.nr + 1; ++n) {
      const index_t m = leaf.mr + 3, k = 9, ld = round_up(n + 1, line);
      const auto a = Matrix<T>::random(m, k, 1), b = Matrix<T>::random(k, n, 2);
      const auto want =
          multiplied(leaf, a, b, Matrix<T>::filled(m, n, not_a_number<T>()), k, T(0), {true, true});
      for (const bool packed_a : {true, false}) {
        machine::Buffer<T> memory(m * ld);  // aligned to a line
        std::fill(memory.begin(), memory.end(), T(77));
        const MatrixView<T> c{memory.data(), m, n, ld};
        multiply_into(leaf, a, b, c, k, T(0), {packed_a, true}, {}, Store::past_caches);
        for (index_t i = 0; i < m; ++i) {
          for (index_t j = 0; j < ld; ++j)
            ASSERT_EQ(memory.data()[i * ld + j], j < n ? want(i, j) : T(77))
                << machine::name(isa) << " " << n;
        }
      }
    }
  }
}

TYPED_TEST(Leaf, AddsOntoASiblingInsteadOfStoring) {
  using T = TypeParam;
  for (const auto isa : sets_here()) {
    const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
    for (const T beta : {T(0), T(1)}) {
      for (index_t n = 1; n <= 2 * leaf.nr + 1; ++n) {
        const index_t m = leaf.mr + 2;
        const auto a = Matrix<T>::random(m, 9, 1);
        const auto b = Matrix<T>::random(9, n, 2);
        const auto c0 =
            beta == T(0) ? Matrix<T>::filled(m, n, not_a_number<T>()) : Matrix<T>::random(m, n, 3);
        const auto sibling = Matrix<T>::random(m, n, 4);
        auto want = sibling;
        const auto value = multiplied(leaf, a, b, c0, 9, beta, {true, true});
        for (index_t i = 0; i < m; ++i) leaf.add(&value.view()(i, 0), &want.view()(i, 0), n);
        auto got = sibling;
        const bool packed = is_complex<T>;
        const auto c = multiplied(leaf, a, b, c0, 9, beta, {packed, packed}, got.view());
        EXPECT_TRUE(same_bits(got, want)) << machine::name(isa) << " " << n;
        EXPECT_TRUE(same_bits(c, c0)) << machine::name(isa) << " " << n;
      }
    }
  }
}

/// Returns element `at` of a packed row of `width` that begins at `row`; complex rows store their
/// parts separately.
template <class T>
T element_of(const std::vector<T>& packed, index_t row, index_t at, index_t width) {
  if constexpr (is_complex<T>) {
    const auto* const parts = reinterpret_cast<const Real<T>*>(packed.data() + row);
    return {parts[at], parts[width + at]};
  } else {
    return packed[static_cast<std::size_t>(row + at)];
  }
}

TYPED_TEST(Leaf, PacksBothOrientationsAlikeAndPadsWithZeros) {
  using T = TypeParam;
  for (const auto isa : sets_here()) {
    const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
    for (const index_t k : {1, 7, 8, 16, 17, 40}) {
      for (index_t count = 1; count <= 2 * leaf.nr + 3; count += 3) {
        const auto x = Matrix<T>::random(count, k, 1);  // A, or B transposed
        Matrix<T> y(k, count);
        for (index_t i = 0; i < count; ++i) {
          for (index_t p = 0; p < k; ++p) y.view()(p, i) = x(i, p);
        }
        const auto packed = [&](bool is_a, Op op, index_t width) {
          std::vector<T> out(static_cast<std::size_t>(round_up(count, width) * k + 1), T(77));
          const Matrix<T>& from = op == Op::none ? x : y;
          const Operand<T> rows = operand(from.view(), op);
          if (is_a) leaf.pack_a(rows, count, k, out.data());
          if (!is_a) leaf.pack_b(flipped(rows), k, count, out.data());
          return out;
        };
        for (const bool is_a : {true, false}) {
          const index_t width = is_a ? leaf.mr : leaf.nr;
          const auto got = packed(is_a, Op::none, width);
          EXPECT_EQ(got, packed(is_a, Op::transpose, width));
          EXPECT_EQ(got.back(), T(77));
          for (index_t i = 0; i < round_up(count, width); ++i) {
            for (index_t p = 0; p < k; ++p) {
              const T want = i < count ? x(i, p) : T(0);
              ASSERT_EQ(element_of(got, i / width * width * k + p * width, i % width, width), want)
                  << machine::name(isa) << " " << count << " " << k;
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(Leaf, ConjugatesAsItPacks) {
  using T = TypeParam;
  if constexpr (is_complex<T>) {
    const index_t k = 13;
    for (const auto isa : sets_here()) {
      const LeafKernels<T>& leaf = leaf_kernels<T>(isa);
      for (index_t count = 1; count <= 2 * leaf.nr + 3; ++count) {
        const auto x = Matrix<T>::random(k, count, 1);
        Matrix<T> y(count, k);
        for (index_t i = 0; i < count; ++i) {
          for (index_t p = 0; p < k; ++p) y.view()(i, p) = conjugate(x(p, i));
        }
        std::vector<T> got(static_cast<std::size_t>(round_up(count, leaf.mr) * k)), want = got;
        leaf.pack_a(operand<T>(x.view(), Op::hermitian), count, k, got.data());
        leaf.pack_a(operand<T>(y.view(), Op::none), count, k, want.data());
        EXPECT_EQ(got, want) << machine::name(isa) << " " << count;
        got.resize(static_cast<std::size_t>(round_up(count, leaf.nr) * k));
        want.resize(got.size());
        leaf.pack_b(operand<T>(y.view(), Op::hermitian), k, count, got.data());
        leaf.pack_b(operand<T>(x.view(), Op::none), k, count, want.data());
        EXPECT_EQ(got, want) << machine::name(isa) << " " << count;
      }
    }
  }
}

/// Returns the sets of this processor with fused multiply-add: all but SSE2. An SVE set may be here
/// without the shorter one.
std::vector<machine::Isa> sets_with_fma() {
  auto sets = sets_here();
  if (machine::isa_names().back() == "avx512") sets.erase(sets.begin());
  return sets;
}

TYPED_TEST(Leaf, OfSetsWithFmaGiveTheSameBits) {
  using T = TypeParam;
  const auto sets = sets_with_fma();
  if (sets.size() < 2) GTEST_SKIP() << "no two sets with FMA here";
  const auto a = Matrix<T>::random(50, 120, 1);
  const auto b = Matrix<T>::random(120, 101, 2);
  const auto c0 = Matrix<T>::random(50, 101, 3);
  const auto with = [&](machine::Isa isa) {
    return multiplied(leaf_kernels<T>(isa), a, b, c0, 120, T(0.25), {true, true});
  };
  const auto want = with(sets.front());
  for (std::size_t i = 1; i < sets.size(); ++i) EXPECT_TRUE(same_bits(want, with(sets[i])));
}

}  // namespace
}  // namespace tessera::matmul
