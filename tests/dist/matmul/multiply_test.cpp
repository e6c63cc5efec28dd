#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/homes.hpp"
#include "dist/matmul/multiply.hpp"
#include "mpi/transfer.hpp"
#include "random_matrices.hpp"

namespace tessera::dist::matmul {
namespace {

struct Case {
  index_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  double alpha = 1, beta = 0;
};

const Case cases[] = {{40, 50, 60},
                      {40, 50, 60, Op::transpose, Op::none, -0.5, 2},
                      {33, 17, 5000, Op::none, Op::transpose},
                      {33, 17, 5000, Op::transpose, Op::transpose, 1, 1},
                      {21, 35, 4500, Op::hermitian, Op::none, 1, 1},
                      {35, 21, 700, Op::none, Op::hermitian, 2, 0},
                      {1, 1, 9000},
                      {3, 200, 1},
                      {200, 2, 3},
                      {0, 5, 5},
                      {5, 0, 5},
                      {5, 7, 0, Op::none, Op::none, 1, 3},
                      {64, 64, 40000},
                      {300, 200, 16},
                      {2, 120, 90}};

/// Returns the whole matrix on every rank.
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

template <class T>
struct Outcome {
  std::vector<T> c;
  double ratio = 0;
};

/// Adds an imaginary part if T is complex, unless the value is 0 or 1.
template <class T>
T scalar(double value) {
  const auto real = static_cast<Real<T>>(value);
  if constexpr (is_complex<T>) {
    return {real, value == 0 || value == 1 ? Real<T>{0} : Real<T>{0.5}};
  } else {
    return real;
  }
}

/// Runs a product. The ratio is the larger one of two checks: one reads the operands before the
/// product, one after.
template <class T>
Outcome<T> run_at(const Homes& homes, const mpi::Communicator& comm, const Case& x,
                  const Method& method) {
  const auto op = [](Op wanted) {
    return turns(wanted) && !is_complex<T> ? Op::transpose : wanted;
  };
  const auto a = random_matrix<T>(comm, homes.a, 1, homes.seen.a);
  const auto b = random_matrix<T>(comm, homes.b, 2, homes.seen.b);
  auto c = random_matrix<T>(comm, homes.c, 3, homes.seen.c);
  if (x.beta == 0)
    std::fill_n(c.view().data, c.box().area(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  const Product<T> product{scalar<T>(x.alpha), a, op(x.op_a), b, op(x.op_b), scalar<T>(x.beta), c};
  const Freivalds<T> check(comm, product, 5, 2);
  const Freivalds<T> early(comm, product, 5, 2, Strips<T>(a), Strips<T>(b));
  mpi::Phases phases;
  multiply(comm, product, method, phases);
  const double ratios[] = {check.ratio(), early.ratio()};
  return {everywhere(comm, c), std::isnan(ratios[0]) ? ratios[0] : std::max(ratios[1], ratios[0])};
}
template <class T>
Outcome<T> run(const mpi::Communicator& comm, const Case& x, const Method& method, Seen seen = {}) {
  Homes rows =
      homes_in_rows({x.m, x.n, tessera::matmul::leaves<T>(x.k)}, x.op_a, x.op_b, comm.size());
  rows.seen = seen;
  return run_at<T>(rows, comm, x, method);
}

template <class T>
std::vector<T> one_rank(const Case& x) {
  return run<T>(mpi::Communicator::self(), x, {}).c;
}

template <class T>
void same_bits(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  EXPECT_TRUE(got.empty() || std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0)
      << what;
}

template <class T>
class Multiply : public testing::Test {};
using Types = testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Multiply, Types);

TYPED_TEST(Multiply, RoundsGiveTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Seen seen : {Seen{}, all_seen, Seen{.b = true}}) {
    for (const Case& x : cases) {
      for (const index_t rounds : {2, 8}) {
        const auto got = run<TypeParam>(comm, x, {.threads = 2, .rounds = rounds}, seen);
        same_bits(got.c, one_rank<TypeParam>(x), std::to_string(rounds) + " rounds");
      }
    }
  }
}

TYPED_TEST(Multiply, HeldOperandsGiveTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Held held : {Held::a, Held::b}) {
    for (const double price : {1.0, 16.0}) {
      for (const Case& x : cases) {
        const auto got =
            run<TypeParam>(comm, x, {.threads = 2, .rounds = 3, .held = held, .held_price = price});
        same_bits(got.c, one_rank<TypeParam>(x), "price " + std::to_string(price));
        EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
      }
    }
  }
}

TYPED_TEST(Multiply, SlicesGiveTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    for (const index_t slices : {2, 3, 64}) {
      const index_t rounds = slices == 3 ? 2 : 1;
      const auto got = run<TypeParam>(comm, x, {.threads = 2, .rounds = rounds, .slices = slices},
                                      {.b = slices == 64});
      same_bits(got.c, one_rank<TypeParam>(x), std::to_string(slices) + " slices");
    }
  }
}

TYPED_TEST(Multiply, RecursiveGivesTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    for (const int threads : {1, 3}) {
      const auto got = run<TypeParam>(comm, x, {.threads = threads});
      same_bits(got.c, one_rank<TypeParam>(x),
                std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k));
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
    }
  }
}

TYPED_TEST(Multiply, SharedMemoryGivesTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Seen seen : {all_seen, Seen{.a = true}, Seen{.b = true}}) {
    for (const Case& x : cases) {
      const auto got = run<TypeParam>(comm, x, {.threads = 2}, seen);
      same_bits(got.c, one_rank<TypeParam>(x),
                std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k));
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
    }
  }
}

TYPED_TEST(Multiply, FollowsAPlanThatIsThere) {
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    for (const index_t rounds : {1, 2}) {
      const ForecastRequest q{.m = x.m,
                              .n = x.n,
                              .k = x.k,
                              .element_bytes = static_cast<index_t>(sizeof(Real<TypeParam>)),
                              .ranks = comm.size()};
      Method method{.threads = 2, .rounds = rounds};
      method.plans = std::make_shared<const std::vector<Plan>>(plan_product(q, method).plans);
      const index_t before = plan_searches();
      const auto got = run<TypeParam>(comm, x, method);
      EXPECT_EQ(plan_searches(), before);
      same_bits(got.c, one_rank<TypeParam>(x), std::to_string(rounds) + " rounds");
    }
  }
}

TYPED_TEST(Multiply, RefusesThePlanOfAnother) {
  const auto comm = mpi::Communicator::world();
  const ForecastRequest other{.m = 40, .n = 50, .k = 61, .ranks = comm.size()};
  Method method{.threads = 2};
  method.plans = std::make_shared<const std::vector<Plan>>(plan_product(other, method).plans);
  EXPECT_THROW((void)run<TypeParam>(comm, cases[0], method), Error);
}

TYPED_TEST(Multiply, HomesInsideOfWhatRanksNeedGiveTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    const Plan plan =
        recursive_plan({x.m, x.n, tessera::matmul::leaves<TypeParam>(x.k)}, comm.size());
    const Homes homes = homes_inside(plan, x.op_a, x.op_b);
    for (const index_t slices : {1, 3}) {
      const auto got = run_at<TypeParam>(homes, comm, x, {.threads = 2, .slices = slices});
      same_bits(got.c, one_rank<TypeParam>(x),
                std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k));
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
    }
  }
}

TYPED_TEST(Multiply, SummaGivesTheBitsOfOneRankOnEveryGrid) {
  const auto comm = mpi::Communicator::world();
  for (const Case& x : cases) {
    for (index_t rows = 1; rows <= comm.size(); ++rows) {
      if (comm.size() % rows != 0) continue;
      const Method method{.algorithm = Algorithm::summa,
                          .threads = 2,
                          .grid = {rows, comm.size() / rows},
                          .panel = 300};
      const auto got = run<TypeParam>(comm, x, method);
      same_bits(got.c, one_rank<TypeParam>(x), "grid rows " + std::to_string(rows));
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
    }
  }
}

/// Returns the methods of the algorithms that run on that number of ranks.
std::vector<Method> methods_on(index_t ranks) {
  std::vector<Method> methods;
  for (const AlgorithmInfo& row : algorithms()) {
    const Method method{.algorithm = row.algorithm, .threads = 1, .grid = {0, 0}};
    if (row.unmet == nullptr || row.unmet(method, ranks).empty()) methods.push_back(method);
  }
  return methods;
}

TYPED_TEST(Multiply, EveryAlgorithmGivesTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  for (std::size_t i = 0; i < std::size(cases); i += 4) {  // all of them are multiplied above
    const Case& x = cases[i];
    for (const Method& method : methods_on(comm.size())) {
      const auto got = run<TypeParam>(comm, x, method);
      same_bits(got.c, one_rank<TypeParam>(x), std::string(info(method.algorithm).name));
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance);
    }
  }
}

TYPED_TEST(Multiply, EveryKernelPassesTheCheck) {
  const auto comm = mpi::Communicator::world();
  for (const auto& kernel : tessera::matmul::variants()) {
    if (kernel.space != Space::host || (kernel.missing != nullptr && !kernel.missing().empty()))
      continue;
    for (Method method : methods_on(comm.size())) {
      const Case x{70, 45, 3000, Op::none, Op::transpose, 2, -1};
      method.kernel = &kernel;
      const auto got = run<TypeParam>(comm, x, method);
      EXPECT_LE(got.ratio, Freivalds<TypeParam>::tolerance) << kernel.name;
    }
  }
}

TEST(Summa, RefusesAGridOfAnotherSize) {
  const auto comm = mpi::Communicator::world();
  const Method method{.algorithm = Algorithm::summa, .grid = {comm.size() + 1, 1}};
  EXPECT_THROW((void)run<double>(comm, {4, 4, 4}, method), Error);
}

}  // namespace
}  // namespace tessera::dist::matmul
