// Freivalds' check of products of rounded operands, which it computes here by rounding copies.

#include "dist/matmul/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "dist/matmul/multiply.hpp"

namespace tessera::dist::matmul {
namespace {

using tessera::matmul::Precision;

constexpr index_t m = 150, n = 170, k = 190;

DistributedMatrix<float> random_matrix(const mpi::Communicator& comm, index_t rows, index_t cols,
                                       std::uint64_t stream) {
  DistributedMatrix<float> x(comm, layout::row_blocks(rows, cols, comm.size()));
  fill_random(x, 42, stream);
  return x;
}

using Round = std::function<float(float x, float largest)>;

/// Rounds every element, given the largest magnitude of its row, or of its column.
void round_all(const mpi::Communicator& comm, DistributedMatrix<float>& x, bool by_row,
               const Round& round) {
  const MatrixView<float> here = x.view();
  std::vector<double> largest(static_cast<std::size_t>(by_row ? here.rows : here.cols));
  const auto of = [&](index_t i, index_t j) -> double& {
    return largest[static_cast<std::size_t>(by_row ? i : j)];
  };
  const auto each = [&](const auto& f) {
    for (index_t i = 0; i < here.rows; ++i) {
      for (index_t j = 0; j < here.cols; ++j) f(i, j);
    }
  };
  each([&](index_t i, index_t j) {
    of(i, j) = std::max(of(i, j), std::abs(static_cast<double>(here(i, j))));
  });
  if (!by_row) comm.max(largest);
  each([&](index_t i, index_t j) { here(i, j) = round(here(i, j), static_cast<float>(of(i, j))); });
}

/// A product of operands rounded so, and the check of the product of the operands as they were.
struct Rounded {
  mpi::Communicator comm = mpi::Communicator::world();
  DistributedMatrix<float> a = random_matrix(comm, m, k, 1), b = random_matrix(comm, k, n, 2),
                           seen_a = random_matrix(comm, m, k, 1),
                           seen_b = random_matrix(comm, k, n, 2), c = random_matrix(comm, m, n, 3);
  Product<float> product{2, a, Op::none, b, Op::none, -0.5, c};
  Freivalds<float> check{comm, product, 9, 1};

  explicit Rounded(const Round& round) {
    round_all(comm, seen_a, true, round);
    round_all(comm, seen_b, false, round);
    mpi::Phases phases;
    multiply(comm, Product<float>{2, seen_a, Op::none, seen_b, Op::none, -0.5, c}, {}, phases);
  }
  [[nodiscard]] auto outcome(Precision precision) const {
    return check.outcome(tessera::matmul::rounding_error(precision));
  }
};

float to_bits(float x, int bits) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

void expect_checked(Rounded x, Precision precision, double least, double most) {
  const double tolerance = Freivalds<float>::tolerance;
  const auto right = x.outcome(precision);
  EXPECT_LE(right.ratio, tolerance);
  EXPECT_GT(right.error, least);
  EXPECT_LT(right.error, most);
  EXPECT_GT(x.outcome(Precision::full).ratio, tolerance);
  const bool by_bits = precision != Precision::int8 && precision != Precision::fp8;
  for (int guilty = 0; guilty < x.comm.size(); ++guilty) {
    const bool mine = x.comm.rank() == guilty && x.c.box().area() > 0;
    const float kept = mine ? x.c.view()(0, 3) : 0;
    if (mine) x.c.view()(0, 3) += by_bits ? 50 : 1e5F;
    EXPECT_GT(x.outcome(precision).ratio, tolerance);
    if (mine) x.c.view()(0, 3) = kept;
  }
}

TEST(RoundedOperands, PassTheCheckWhichPrintsTheirError) {
  // The error of an operand is about 2^-bits / 2.4, of the product sqrt(2) as much.
  expect_checked(Rounded([](float x, float) { return to_bits(x, 8); }), Precision::bf16, 1e-3,
                 4e-3);
  expect_checked(Rounded([](float x, float) { return to_bits(x, 11); }), Precision::f16, 1e-4,
                 5e-4);
  expect_checked(Rounded([](float x, float) { return to_bits(x, 11); }), Precision::tf32, 1e-4,
                 5e-4);
  expect_checked(
      Rounded([](float x, float largest) {
        const float unit = std::ldexp(1.0F, static_cast<int>(std::ceil(std::log2(largest / 448))));
        const float finest = std::ldexp(unit, -9);
        return std::abs(x) < 8 * finest ? finest * std::nearbyint(x / finest) : to_bits(x, 4);
      }),
      Precision::fp8, 2e-2, 6e-2);
  expect_checked(Rounded([](float x, float largest) {
                   return std::nearbyint(x * (127 / largest)) * (largest / 127);
                 }),
                 Precision::int8, 3e-3, 1e-2);
}

TEST(RoundedOperands, FailIfTheyHaveFewerBitsThanTheirPrecision) {
  const Rounded x([](float value, float) { return to_bits(value, 7); });
  EXPECT_GT(x.outcome(Precision::bf16).ratio, Freivalds<float>::tolerance);
}

TEST(RoundedOperands, FailIfNothingIsMultiplied) {
  const Rounded x([](float, float) { return 0.0F; });
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::f16}) {
    const auto outcome = x.outcome(precision);
    EXPECT_GT(outcome.ratio, Freivalds<float>::tolerance);
    EXPECT_GT(outcome.error, 0.5);
  }
}

}  // namespace
}  // namespace tessera::dist::matmul
