#include <gtest/gtest.h>

#include "scalapack/blacs.hpp"
#include "scalapack/matrix.hpp"
#include "tessera_scalapack.h"

namespace tessera::scalapack {
namespace {

template <class T>
struct Entries;
template <>
struct Entries<float> {
  static constexpr auto gemm = psgemm_;
  static constexpr auto tran = pstran_, tranc = pstran_;
  static constexpr auto copy = psgemr2d_;
};
template <>
struct Entries<double> {
  static constexpr auto gemm = pdgemm_;
  static constexpr auto tran = pdtran_, tranc = pdtran_;
  static constexpr auto copy = pdgemr2d_;
};
template <>
struct Entries<std::complex<float>> {
  static constexpr auto gemm = pcgemm_;
  static constexpr auto tran = pctranu_, tranc = pctranc_;
  static constexpr auto copy = pcgemr2d_;
};
template <>
struct Entries<std::complex<double>> {
  static constexpr auto gemm = pzgemm_;
  static constexpr auto tran = pztranu_, tranc = pztranc_;
  static constexpr auto copy = pzgemr2d_;
};
template <>
struct Entries<std::int32_t> {
  static constexpr auto copy = pigemr2d_;
};

template <class T>
T conjugated(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}

int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// A process grid of the test, over some of the ranks in any order.
struct TestGrid {
  int context;
  CyclicMatrix<double>::Grid place;
};
TestGrid make_grid(Random& random, bool of_all) {
  const int ranks = size_of_world();
  int rows = static_cast<int>(pick(random, 1, ranks));
  while (of_all && ranks % rows != 0) --rows;
  const int cols = ranks / rows;
  std::vector<int> members;
  for (const index_t rank : dist::relayout::permutation(random, ranks))
    members.push_back(static_cast<int>(rank));
  const int context = make_context(rows, cols, members);
  TestGrid grid{context, {rows, cols, -1, -1}};
  if (context < 0) return grid;
  int rank = 0, world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  while (members[static_cast<std::size_t>(rank)] != world) ++rank;
  grid.place.row = rank / cols;
  grid.place.col = rank % cols;
  return grid;
}
template <class T>
typename CyclicMatrix<T>::Grid place_of(const TestGrid& grid) {
  return {grid.place.rows, grid.place.cols, grid.place.row, grid.place.col};
}

template <class T>
class NumberEntries : public testing::Test {
 protected:
  ~NumberEntries() override { free_contexts(); }
};
using Numbers = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(NumberEntries, Numbers);

/// Some factor; 0 and 1 often.
template <class T>
T factor(Random& random, int which) {
  const index_t kind = pick(random, 0, 3);
  return kind < 2 ? T{static_cast<float>(kind)} : element<T>(which, kind, 3);
}

TYPED_TEST(NumberEntries, GemmIsTheProduct) {
  using T = TypeParam;
  Random random(41);
  for (int round = 0; round < 40; ++round) {
    const TestGrid grid = make_grid(random, round % 2 == 0);
    const char op_a = "NTCntc"[pick(random, 0, 5)], op_b = "NTCntc"[pick(random, 0, 5)];
    const bool turns_a = op_a != 'N' && op_a != 'n', turns_b = op_b != 'N' && op_b != 'n';
    const int m = static_cast<int>(pick(random, 0, 40)), n = static_cast<int>(pick(random, 0, 40)),
              k = static_cast<int>(pick(random, 0, 30));
    const T alpha = factor<T>(random, 7), beta = factor<T>(random, 8);
    const auto place = place_of<T>(grid);
    CyclicMatrix<T> a(random, 0, turns_a ? k : m, turns_a ? m : k, grid.context, place),
        b(random, 1, turns_b ? n : k, turns_b ? k : n, grid.context, place),
        c(random, 2, m, n, grid.context, place);
    if (grid.context < 0) continue;
    if (beta == T{0}) c.spoil();
    if (alpha == T{0}) a.spoil();
    const CyclicMatrix<T> before = c, a_before = a;
    Entries<T>::gemm(&op_a, &op_b, &m, &n, &k, &alpha, a.local.data(), &a.ia, &a.ja,
                     a.descriptor.data(), b.local.data(), &b.ia, &b.ja, b.descriptor.data(), &beta,
                     c.local.data(), &c.ia, &c.ja, c.descriptor.data());
    const auto of = [](const CyclicMatrix<T>& x, char op, index_t i, index_t j) {
      if (op == 'N' || op == 'n') return x.old(i, j);
      return op == 'T' || op == 't' ? x.old(j, i) : conjugated(x.old(j, i));
    };
    const auto want = [&](index_t i, index_t j) {
      T sum{0};
      for (index_t p = 0; alpha != T{0} && p < k; ++p) sum += of(a, op_a, i, p) * of(b, op_b, p, j);
      return alpha * sum + (beta == T{0} ? T{0} : beta * c.old(i, j));
    };
    ASSERT_EQ(c.wrong(before, want), 0)
        << "round " << round << ": " << op_a << op_b << ' ' << m << ' ' << n << ' ' << k;
    ASSERT_EQ(std::memcmp(a.local.data(), a_before.local.data(), a.local.size() * sizeof(T)), 0);
  }
}

TYPED_TEST(NumberEntries, TranIsTheTranspose) {
  using T = TypeParam;
  Random random(42);
  for (int round = 0; round < 40; ++round) {
    const TestGrid grid = make_grid(random, round % 2 == 0);
    const int m = static_cast<int>(pick(random, 0, 60)), n = static_cast<int>(pick(random, 0, 60));
    const T alpha = factor<T>(random, 7), beta = factor<T>(random, 8);
    const auto place = place_of<T>(grid);
    CyclicMatrix<T> a(random, 0, n, m, grid.context, place),
        c(random, 2, m, n, grid.context, place);
    if (grid.context < 0) continue;
    if (beta == T{0}) c.spoil();
    const CyclicMatrix<T> before = c;
    const bool conjugates = round % 3 == 0;
    (conjugates ? Entries<T>::tranc : Entries<T>::tran)(
        &m, &n, &alpha, a.local.data(), &a.ia, &a.ja, a.descriptor.data(), &beta, c.local.data(),
        &c.ia, &c.ja, c.descriptor.data());
    const auto want = [&](index_t i, index_t j) {
      const T x = conjugates ? conjugated(a.old(j, i)) : a.old(j, i);
      return alpha * x + (beta == T{0} ? T{0} : beta * c.old(i, j));
    };
    ASSERT_EQ(c.wrong(before, want), 0) << "round " << round << ": " << m << " x " << n;
  }
}

template <class T>
class CopyEntries : public testing::Test {
 protected:
  ~CopyEntries() override { free_contexts(); }
};
using Copied =
    testing::Types<float, double, std::complex<float>, std::complex<double>, std::int32_t>;
TYPED_TEST_SUITE(CopyEntries, Copied);

TYPED_TEST(CopyEntries, MoveASubmatrixBetweenGrids) {
  using T = TypeParam;
  Random random(43);
  for (int round = 0; round < 40; ++round) {
    const TestGrid all = make_grid(random, true), from = make_grid(random, false),
                   to = make_grid(random, false);
    const int m = static_cast<int>(pick(random, 0, 70)), n = static_cast<int>(pick(random, 0, 50));
    CyclicMatrix<T> a(random, 0, m, n, from.context, place_of<T>(from), Blocks::alike),
        b(random, 1, m, n, to.context, place_of<T>(to), Blocks::alike);
    b.spoil();
    const CyclicMatrix<T> before = b;
    Entries<T>::copy(&m, &n, a.local.data(), &a.ia, &a.ja, a.descriptor.data(), b.local.data(),
                     &b.ia, &b.ja, b.descriptor.data(), &all.context);
    ASSERT_EQ(b.wrong(before, [&](index_t i, index_t j) { return a.old(i, j); }), 0)
        << "round " << round << ": " << m << " x " << n;
  }
}

class WrongArguments : public testing::Test {
 protected:
  ~WrongArguments() override { free_contexts(); }
  const int ranks_ = size_of_world();
  std::vector<int> members_ = [this] {
    std::vector<int> all;
    for (int r = 0; r < ranks_; ++r) all.push_back(r);
    return all;
  }();
  const int context_ = make_context(1, ranks_, members_);
  std::array<int, 9> a_{1, context_, 20, 20, 4, 2, 0, 0, 20}, b_ = a_, c_ = a_;
  char op_a_ = 'N', op_b_ = 'N';
  int m_ = 10, n_ = 10, k_ = 10, ia_ = 1, ja_ = 1, ib_ = 1, jb_ = 1, ic_ = 1, jc_ = 1;
  std::vector<double> memory_ = std::vector<double>(400 * 3, 1.0);

  /// Returns the number that pdgemm reports.
  int gemm() {
    const double one = 1;
    pdgemm_(&op_a_, &op_b_, &m_, &n_, &k_, &one, memory_.data(), &ia_, &ja_, a_.data(),
            memory_.data() + 400, &ib_, &jb_, b_.data(), &one, memory_.data() + 800, &ic_, &jc_,
            c_.data());
    return reported();
  }
  int tran() {
    const double one = 1;
    pdtran_(&m_, &n_, &one, memory_.data(), &ia_, &ja_, a_.data(), &one, memory_.data() + 400, &ic_,
            &jc_, c_.data());
    return reported();
  }
  /// Returns what `call` reports while `x` is `wrong`.
  template <class T, class Call>
  int with(T& x, T wrong, const Call& call) {
    const T right = std::exchange(x, wrong);
    const int number = call();
    x = right;
    return number;
  }
};

TEST_F(WrongArguments, AreNumberedAsThePblasDo) {
  const auto call = [this] { return gemm(); };
  ASSERT_EQ(call(), 0);
  EXPECT_EQ(with(op_a_, 'x', call), -1);
  EXPECT_EQ(with(op_b_, 'x', call), -2);
  EXPECT_EQ(with(m_, -1, call), -3);
  EXPECT_EQ(with(n_, -1, call), -4);
  EXPECT_EQ(with(k_, -1, call), -5);
  EXPECT_EQ(with(ia_, 0, call), -8);
  EXPECT_EQ(with(ja_, 0, call), -9);
  EXPECT_EQ(with(ia_, 12, call), -8);
  EXPECT_EQ(with(ja_, 12, call), -9);
  EXPECT_EQ(with(a_[0], 7, call), -1001);
  EXPECT_EQ(with(a_[1], -1, call), -1002);
  EXPECT_EQ(with(a_[2], 0, call), -1003);
  EXPECT_EQ(with(a_[3], -3, call), -1004);
  EXPECT_EQ(with(a_[4], 0, call), -1005);  // as size of the first block
  EXPECT_EQ(with(a_[5], -1, call), -1006);
  EXPECT_EQ(with(a_[6], 1, call), -1009);
  EXPECT_EQ(with(a_[7], ranks_, call), -1010);
  EXPECT_EQ(with(a_[8], 19, call), -1011);
  EXPECT_EQ(with(ib_, 0, call), -12);
  EXPECT_EQ(with(b_[0], 7, call), -1401);
  EXPECT_EQ(with(b_[1], 77, call), -1402);
  EXPECT_EQ(with(b_[6], -2, call), -1409);
  EXPECT_EQ(with(jc_, 15, call), -18);
  EXPECT_EQ(with(c_[8], 0, call), -1911);
  op_b_ = 'x';
  EXPECT_EQ(with(op_a_, 'x', call), -1) << "the first one counts";
  EXPECT_EQ(reported_routine(), "PDGEMM");
}

TEST_F(WrongArguments, OfTransposesAreNumberedAsThePblasDo) {
  const auto call = [this] { return tran(); };
  ASSERT_EQ(call(), 0);
  EXPECT_EQ(with(m_, -1, call), -1);
  EXPECT_EQ(with(n_, -1, call), -2);
  EXPECT_EQ(with(ia_, 0, call), -5);
  EXPECT_EQ(with(ja_, 20, call), -6);
  EXPECT_EQ(with(a_[1], -1, call), -702);
  EXPECT_EQ(with(ic_, 0, call), -10);
  EXPECT_EQ(with(c_[8], 1, call), -1211);
  EXPECT_EQ(reported_routine(), "PDTRAN");
}

/// Blocks of one array may be operands and result, as in a factorisation.
TEST_F(WrongArguments, DoNotIncludeDisjointPartsOfOneArray) {
  const double one = 1, zero = 0;
  m_ = n_ = k_ = 5;
  ic_ = 11;
  pdgemm_(&op_a_, &op_b_, &m_, &n_, &k_, &one, memory_.data(), &ia_, &ja_, a_.data(),
          memory_.data(), &ib_, &jb_, a_.data(), &zero, memory_.data(), &ic_, &jc_, a_.data());
  pdtran_(&m_, &n_, &one, memory_.data(), &ia_, &ja_, a_.data(), &one, memory_.data(), &ic_, &jc_,
          a_.data());
  EXPECT_EQ(reported(), 0);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    EXPECT_EQ(memory_[10], 6.0);  // 5 * 1 * 1 + 1
  }
}

}  // namespace
}  // namespace tessera::scalapack
