// The check of a distributed product: what it finds, and what it copes with.

#include "dist/matmul/freivalds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dist/matmul/multiply.hpp"
#include "machine/fork_join.hpp"
#include "random_matrices.hpp"

namespace tessera::dist::matmul {
namespace {

/// Passes over this rank's part by several threads at once.
class AtOnce : public MatrixStrips<double> {
 public:
  explicit AtOnce(const DistributedMatrix<double>& matrix) : matrix_(matrix) {}
  void each(const Body& body) const override {
    machine::on_each_thread(4, [&](int thread, int threads) {
      for (index_t i = thread; i < matrix_.box().rows.size(); i += threads) {
        const index_t row = matrix_.box().rows.begin + i;
        body({{row, row + 1}, matrix_.box().cols}, matrix_.view().rows_range(i, 1));
      }
    });
  }

 private:
  const DistributedMatrix<double>& matrix_;
};

TEST(Freivalds, TakesTurnedOperandsFromSeveralThreadsAtOnce) {
  const auto comm = mpi::Communicator::world();
  const index_t m = 300, n = 280, k = 900;
  const auto a = random_matrix<double>(comm, k, m, 1), b = random_matrix<double>(comm, n, k, 2);
  auto c = random_matrix<double>(comm, m, n, 3);
  const Product<double> product{1.0, a, Op::transpose, b, Op::transpose, 0.0, c};
  mpi::Phases phases;
  multiply(comm, product, {}, phases);
  for (int time = 0; time < 20; ++time) {
    const Freivalds<double> check(comm, product, 5, 1, AtOnce(a), AtOnce(b));
    EXPECT_LE(check.ratio(), Freivalds<double>::tolerance) << time;
  }
}

/// C = A B of two random matrices of n x n.
struct SquareProduct {
  SquareProduct(const mpi::Communicator& comm, index_t n)
      : a(random_matrix<double>(comm, n, n, 1)),
        b(random_matrix<double>(comm, n, n, 2)),
        c(comm, layout::row_blocks(n, n, comm.size())) {
    mpi::Phases phases;
    multiply(comm, product, {}, phases);
  }

  DistributedMatrix<double> a, b, c;
  Product<double> product{1.0, a, Op::none, b, Op::none, 0.0, c};
};

TEST(Freivalds, FindsOneWrongElementOnAnyRank) {
  const auto comm = mpi::Communicator::world();
  SquareProduct made(comm, 200);
  DistributedMatrix<double>& c = made.c;
  const Freivalds<double> check(comm, made.product, 9, 1);
  EXPECT_LE(check.ratio(), check.tolerance);
  for (int guilty = 0; guilty < comm.size(); ++guilty) {
    const bool mine = comm.rank() == guilty && c.box().area() > 0;
    const double kept = mine ? c.view()(0, 3) : 0;
    if (mine) c.view()(0, 3) += 1e-9;
    EXPECT_GT(check.ratio(), check.tolerance);
    if (mine) c.view()(0, 3) = kept;
  }
  EXPECT_LE(check.ratio(), check.tolerance);
  if (comm.rank() == comm.size() - 1) c.view()(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check.ratio() <= check.tolerance);  // a NaN that no operand explains
}

// Weights of equal magnitude and both signs would miss every other such error.
TEST(Freivalds, FindsErrorsThatCancelInARow) {
  const auto comm = mpi::Communicator::world();
  SquareProduct made(comm, 60);
  if (comm.is_root()) {
    made.c.view()(0, 3) += 1e-6;
    made.c.view()(0, 4) -= 1e-6;
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Freivalds<double> check(comm, made.product, seed, 1);
    EXPECT_GT(check.ratio(), check.tolerance) << seed;
  }
}

TEST(Freivalds, FindsAnOperandThatChangedSinceItWasLookedAt) {
  const auto comm = mpi::Communicator::world();
  const index_t n = 100;
  for (const bool of_a : {true, false}) {
    auto a = random_matrix<double>(comm, n, n, 1), b = random_matrix<double>(comm, n, n, 2);
    DistributedMatrix<double> c(comm, layout::row_blocks(n, n, comm.size()));
    const Product<double> product{1.0, a, Op::none, b, Op::transpose, 0.0, c};
    const Freivalds<double> check(comm, product, 9, 1, Strips<double>(a), Strips<double>(b));
    if (comm.rank() == comm.size() - 1) (of_a ? a : b).view()(0, 3) += 1e-9;
    mpi::Phases phases;
    multiply(comm, product, {}, phases);
    EXPECT_GT(check.ratio(), check.tolerance) << of_a;
    if (comm.is_root()) c.view()(0, 0) = std::nan("");
    EXPECT_FALSE(check.ratio() <= check.tolerance);
  }
}

TEST(Freivalds, FindsOneWrongPartOfAComplexElement) {
  using T = Complex<double>;
  const auto comm = mpi::Communicator::world();
  const index_t n = 120;
  const auto a = random_matrix<T>(comm, n, n, 1), b = random_matrix<T>(comm, n, n, 2);
  auto c = random_matrix<T>(comm, n, n, 3);
  const Product<T> product{{1, 2}, a, Op::hermitian, b, Op::none, {0, -1}, c};
  const Freivalds<T> check(comm, product, 9, 1);
  mpi::Phases phases;
  multiply(comm, product, {}, phases);
  EXPECT_LE(check.ratio(), check.tolerance);
  for (const T error : {T{1e-9, 0}, T{0, 1e-9}}) {
    const bool mine = comm.rank() == comm.size() - 1 && c.box().area() > 0;
    const T kept = mine ? c.view()(0, 3) : T{0};
    if (mine) c.view()(0, 3) += error;
    EXPECT_GT(check.ratio(), check.tolerance);
    if (mine) c.view()(0, 3) = kept;
  }
  if (comm.is_root()) c.view()(0, 0) = conjugate(c.view()(0, 0));
  EXPECT_GT(check.ratio(), check.tolerance);
}

/// The third case has, on one rank, more elements than are masked at once.
struct Case {
  index_t m, n, k;
  Op op_a, op_b;
  double alpha, beta;
};

TEST(Freivalds, CopesWithNanAndInfinityInTheOperands) {
  const auto comm = mpi::Communicator::world();
  const auto put = [](DistributedMatrix<double>& matrix, index_t i, index_t j, double value) {
    if (matrix.box().rows.begin <= i && i < matrix.box().rows.end)
      matrix.view()(i - matrix.box().rows.begin, j) = value;
  };
  const auto stored = [&](index_t rows, index_t cols, Op op, std::uint64_t stream) {
    return op == Op::none ? random_matrix<double>(comm, rows, cols, stream)
                          : random_matrix<double>(comm, cols, rows, stream);
  };
  for (const Case& x : {Case{90, 90, 90, Op::none, Op::none, 1, 0},
                        Case{90, 80, 70, Op::transpose, Op::transpose, 1, 1},
                        Case{12, 8, 40000, Op::none, Op::transpose, 1, 1}}) {
    for (const double poison : {std::nan(""), HUGE_VAL}) {
      auto a = stored(x.m, x.k, x.op_a, 1), b = stored(x.k, x.n, x.op_b, 2);
      x.op_a == Op::none ? put(a, 7, 5, poison) : put(a, 5, 7, poison);
      x.op_b == Op::none ? put(b, 11, 6, poison) : put(b, 6, 11, poison);
      auto c = random_matrix<double>(comm, x.m, x.n, 3);
      const Product<double> product{x.alpha, a, x.op_a, b, x.op_b, x.beta, c};
      const Freivalds<double> check(comm, product, 9, 1),
          early(comm, product, 9, 1, Strips<double>(a), Strips<double>(b));
      mpi::Phases phases;
      multiply(comm, product, {}, phases);
      for (const auto* each : {&check, &early}) EXPECT_LE(each->ratio(), each->tolerance);
      for (const auto& [i, j] : {std::pair{7, 3}, {9, 6}}) {
        put(c, i, j, 1);  // a number where NaN belongs
        for (const auto* each : {&check, &early}) EXPECT_TRUE(std::isnan(each->ratio())) << i;
        put(c, i, j, poison);
      }
      if (comm.is_root()) c.view()(0, 0) += 1e-6;  // row 0 is clean: the error is found
      for (const auto* each : {&check, &early}) EXPECT_GT(each->ratio(), each->tolerance);
    }
  }
}

TEST(Freivalds, FailsOperandsThatAreNoLongerFinite) {
  const auto comm = mpi::Communicator::world();
  auto a = random_matrix<double>(comm, 40, 30, 1), c = random_matrix<double>(comm, 40, 20, 3);
  const auto b = random_matrix<double>(comm, 30, 20, 2);
  const Product<double> product{1.0, a, Op::none, b, Op::none, 1.0, c};
  const Freivalds<double> check(comm, product, 9, 1),
      early(comm, product, 9, 1, Strips<double>(a), Strips<double>(b));
  if (comm.is_root()) a.view()(0, 0) = std::nan("");
  mpi::Phases phases;
  multiply(comm, product, {}, phases);
  for (const auto* each : {&check, &early}) EXPECT_FALSE(each->ratio() <= each->tolerance);
}

}  // namespace
}  // namespace tessera::dist::matmul
