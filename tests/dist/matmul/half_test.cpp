// Distributed products of f16 and bf16: the bits of one rank with every algorithm, in any
// distribution, and numbers of others' types.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/foreign.hpp"
#include "dist/matmul/homes.hpp"
#include "dist/matmul/laid_out.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/matmul/multiply_plan.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "mpi/transfer.hpp"
#include "random_matrices.hpp"

namespace tessera::dist::matmul {
namespace {

struct Case {
  index_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  float alpha = 1, beta = 0;
};
const Case cases[] = {{40, 50, 60},
                      {41, 50, 63, Op::transpose, Op::none, -0.5F, 2},
                      {33, 17, 5000, Op::none, Op::transpose},
                      {33, 17, 5001, Op::transpose, Op::transpose, 1, 1},
                      {1, 1, 9000},
                      {200, 2, 3},
                      {0, 5, 5},
                      {5, 7, 0, Op::none, Op::none, 1, 3},
                      {5, 7, 9, Op::none, Op::none, 0, 3},
                      {64, 64, 20000}};

template <class T>
std::vector<T> everywhere(const mpi::Communicator& comm, const DistributedMatrix<T>& matrix) {
  std::vector<T> all(static_cast<std::size_t>(matrix.rows() * matrix.cols()));
  const layout::MatrixLayout need{
      matrix.rows(), matrix.cols(),
      std::vector<layout::Box>(static_cast<std::size_t>(comm.size()),
                               {{0, matrix.rows()}, {0, matrix.cols()}})};
  mpi::redistribute<T>(comm, matrix.layout(), matrix.view(), need,
                       matrix_view(all.data(), matrix.rows(), matrix.cols()));
  return all;
}

/// Returns c on every rank.
template <class T, class S>
std::vector<T> product(const mpi::Communicator& comm, const Case& x, const Method& method,
                       const Seen& seen = {}) {
  Homes homes =
      homes_in_rows({x.m, x.n, tessera::matmul::leaves<T>(x.k)}, x.op_a, x.op_b, comm.size());
  const auto a = random_matrix<S>(comm, homes.a, 1, seen.a),
             b = random_matrix<S>(comm, homes.b, 2, seen.b);
  auto c = random_matrix<T>(comm, homes.c, 3, seen.c);
  if (x.beta == 0)
    std::memset(static_cast<void*>(c.view().data), 0xff,
                static_cast<std::size_t>(c.box().area()) * sizeof(T));
  multiply(comm, Product<T, S>{x.alpha, a, x.op_a, b, x.op_b, x.beta, c}, method);
  return everywhere(comm, c);
}

/// Returns c as the kernel computes it on this rank.
template <class T, class S>
std::vector<T> alone(const Case& x) {
  const auto self = mpi::Communicator::self();
  const Homes homes = homes_in_rows({x.m, x.n, tessera::matmul::leaves<T>(x.k)}, x.op_a, x.op_b, 1);
  const auto a = random_matrix<S>(self, homes.a, 1), b = random_matrix<S>(self, homes.b, 2);
  auto c = random_matrix<T>(self, homes.c, 3);
  tessera::matmul::cache_oblivious(
      tessera::matmul::Gemm<T, S>{x.alpha, a.view(), x.op_a, b.view(), x.op_b, x.beta, c.view()});
  return everywhere(self, c);
}

template <class T>
void same_bits(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0)
      << what;
}

template <class S>
class Halves : public testing::Test {};
using Types = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Halves, Types);

TYPED_TEST(Halves, EveryAlgorithmGivesTheBitsOfOneRank) {
  using S = TypeParam;
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    const std::string shape =
        std::to_string(x.m) + " x " + std::to_string(x.n) + " x " + std::to_string(x.k);
    const std::vector<S> want = alone<S, S>(x);
    const std::vector<float> wide = alone<float, S>(x);
    for (std::size_t i = 0; x.beta == 0 && i < want.size(); ++i)
      ASSERT_EQ(want[i].bits, S(wide[i]).bits);
    const Method summa{.algorithm = Algorithm::summa, .threads = 2, .panel = 1};
    same_bits(product<S, S>(comm, x, {.threads = 2}), want, shape);
    same_bits(product<S, S>(comm, x, summa), want, shape + " summa");
    same_bits(product<S, S>(comm, x, {.threads = 1, .rounds = 3}), want, shape + " rounds");
    same_bits(product<S, S>(comm, x, {.threads = 2, .slices = 3}), want, shape + " slices");
    same_bits(product<S, S>(comm, x, {.threads = 2}, all_seen), want, shape + " shared");
    same_bits(product<float, S>(comm, x, {.threads = 2}), wide, shape + " in f32");
    same_bits(product<float, S>(comm, x, summa), wide, shape + " in f32, summa");
  }
}

/// A product without c's former values, and its planned counterpart, in columns.
TYPED_TEST(Halves, LaidOutProductsHaveTheBitsOfOneRank) {
  using S = TypeParam;
  const auto comm = mpi::Communicator::world();
  const Case x{37, 23, 4600, Op::none, Op::transpose, 0.5F, -1.5F};
  const auto layout_of = [&](index_t rows, index_t cols) {
    return layout::row_blocks(rows, cols, comm.size());
  };
  const auto a = random_matrix<S>(comm, layout_of(x.m, x.k), 1),
             b = random_matrix<S>(comm, layout_of(x.n, x.k), 2);
  auto c = random_matrix<S>(comm, layout_of(x.m, x.n), 3);
  auto in_float = random_matrix<float>(comm, layout_of(x.m, x.n), 3);
  const auto laid_out = [](auto& matrix) {
    return LaidOut<std::remove_pointer_t<decltype(matrix.view().data)>>{
        layout::Distribution(matrix.layout()), {matrix.view().data, matrix.view().ld}};
  };
  multiply(comm, LaidOutProduct<S>{.alpha = x.alpha,
                                   .a = laid_out(a),
                                   .b = laid_out(b),
                                   .op_b = x.op_b,
                                   .beta = x.beta,
                                   .c = laid_out(c)});
  same_bits(everywhere(comm, c), alone<S, S>(x), "laid out");
  multiply(comm, LaidOutProduct<float, S>{.alpha = x.alpha,
                                          .a = laid_out(a),
                                          .b = laid_out(b),
                                          .op_b = x.op_b,
                                          .beta = x.beta,
                                          .c = laid_out(in_float)});
  same_bits(everywhere(comm, in_float), alone<float, S>(x), "laid out in f32");
}

#ifdef TESSERA_HAS_FLOAT16
TEST(Half, DistributedProductsTakeTheCompilersType) {
  using F = _Float16;
  const auto comm = mpi::Communicator::world();
  const index_t m = 9 * comm.size(), n = 7, k = 5;
  const auto of = [&](index_t rows, index_t cols) {
    return layout::row_blocks(rows, cols, comm.size());
  };
  DistributedMatrix<F> a(comm, of(m, k)), b(comm, of(k, n)), c(comm, of(m, n));
  fill_random(a, 42, 1);
  fill_random(b, 42, 2);
  multiply(comm, a, b, c);
  const auto want = alone<Half, Half>({m, n, k});
  const auto mine = static_cast<std::size_t>(c.box().area());
  const Half* const expected = want.data() + c.box().rows.begin * n;
  EXPECT_EQ(std::memcmp(c.view().data, expected, mine * sizeof(F)), 0);

  std::vector<F> planned(mine);
  const auto stored = [](const auto& x) { return StoredMatrix{layout::Distribution(x.layout())}; };
  MultiplyPlan<F> plan(comm, {stored(a), Op::none, stored(b), Op::none, stored(c)});
  plan.execute(1, {a.view().data, k}, {b.view().data, n}, 0, {planned.data(), n});
  EXPECT_EQ(std::memcmp(planned.data(), expected, mine * sizeof(F)), 0);
}
#endif

TEST(Half, DistributedProductsNameAKernelThatDoesNotMultiplyThem) {
  const auto comm = mpi::Communicator::world();
  const auto of = layout::row_blocks(4, 4, comm.size());
  const auto a = random_matrix<BFloat16>(comm, of, 1);
  auto c = random_matrix<BFloat16>(comm, of, 3);
  const Method method{.kernel = &tessera::matmul::variants().front()};
  const StoredMatrix stored{layout::Distribution(of)};
  const auto expect_refused = [](const auto& body) {
    try {
      body();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "method.kernel");
      EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos) << error.what();
    }
  };
  expect_refused([&] { multiply(comm, a, a, c, method); });
  expect_refused([&] {
    MultiplyPlan<BFloat16>(comm, {stored, Op::none, stored, Op::none, stored}, method);
  });
}

}  // namespace
}  // namespace tessera::dist::matmul
