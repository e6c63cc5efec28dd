// Products in less memory than their operands take: what ranks send is counted at MPI.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "dist/matmul/homes.hpp"
#include "dist/matmul/multiply.hpp"
#include "mpi/transfer.hpp"

namespace {
tessera::index_t bytes_sent = 0;

void count(int elements, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  bytes_sent += tessera::index_t{elements} * size;
}
}  // namespace

extern "C" {
int MPI_Isend(const void* data, int elements, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  count(elements, type);
  return PMPI_Isend(data, elements, type, peer, tag, comm, request);
}
int MPI_Send_init(const void* data, int elements, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, MPI_Request* request) {  // those of a product are started once
  count(elements, type);
  return PMPI_Send_init(data, elements, type, peer, tag, comm, request);
}
}

namespace tessera::dist::matmul {
namespace {

struct Case {
  index_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  double beta = 0;
};

const Case cases[] = {{317, 289, 9001},
                      {289, 317, 9001, Op::transpose, Op::none, 1},
                      {201, 803, 4700, Op::none, Op::transpose},
                      {803, 201, 4700, Op::transpose, Op::transpose, -2},
                      {150, 163, 17000, Op::none, Op::none, 1},
                      {900, 1000, 700}};

DistributedMatrix<double> random_matrix(const mpi::Communicator& comm,
                                        const layout::MatrixLayout& home, std::uint64_t stream) {
  DistributedMatrix<double> matrix(comm, home);
  fill_random(matrix, 42, stream);
  return matrix;
}

struct Multiplied {
  std::vector<double> c;  // all of it, on every rank
  index_t sent = 0;       // bytes
};

Multiplied multiplied(const mpi::Communicator& comm, const Case& x, const Homes& homes,
                      const Method& method) {
  const auto a = random_matrix(comm, homes.a, 1), b = random_matrix(comm, homes.b, 2);
  auto c = random_matrix(comm, homes.c, 3);
  bytes_sent = 0;
  multiply(comm, Product<double>{1, a, x.op_a, b, x.op_b, x.beta, c}, method);
  Multiplied result{std::vector<double>(static_cast<std::size_t>(x.m * x.n)), bytes_sent};
  const layout::MatrixLayout all{
      x.m, x.n,
      std::vector<layout::Box>(static_cast<std::size_t>(comm.size()), {{0, x.m}, {0, x.n}})};
  mpi::redistribute<double>(comm, c.layout(), c.view(), all,
                            matrix_view(result.c.data(), x.m, x.n));
  return result;
}

/// Expects the bits of one rank, and the bytes that the plan counts, in rounds that need at most
/// `part` of the work space. Returns whether there are any.
bool agrees(const mpi::Communicator& comm, const Case& x, double part, bool inside) {
  const ForecastRequest q{.m = x.m,
                          .n = x.n,
                          .k = x.k,
                          .op_a = x.op_a,
                          .op_b = x.op_b,
                          .reads_c = x.beta != 0,
                          .ranks = comm.size(),
                          .inside = inside};
  Method method{.threads = 1};
  double work = 0;
  for (const Forecast& f : plan_product(q, method).forecasts)
    work = std::max(work, static_cast<double>(f.work_bytes));
  const ProductPlan planned = plan_in_rounds(q, method, [&](const Forecast& f) {
    return static_cast<double>(f.work_bytes) <= part * work;
  });
  if (planned.forecasts.empty()) return false;
  EXPECT_GT(method.rounds, 1);
  method.plans = std::make_shared<const std::vector<Plan>>(planned.plans);
  const auto [got, sent] = multiplied(comm, x, planned.homes, method);
  EXPECT_EQ(sent, planned.forecasts[static_cast<std::size_t>(comm.rank())].sent_bytes);
  const Homes alone =
      homes_in_rows({x.m, x.n, tessera::matmul::leaves<double>(x.k)}, x.op_a, x.op_b, 1);
  const auto want = multiplied(mpi::Communicator::self(), x, alone, {.threads = 1}).c;
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(double)), 0)
      << x.m << " x " << x.n << " x " << x.k << ", " << method.rounds << " rounds";
  return true;
}

TEST(Rounds, SendWhatThePlanCountsAndGiveTheBitsOfOneRank) {
  const auto comm = mpi::Communicator::world();
  int in_rounds = 0;
  for (const Case& x : cases) {
    in_rounds += agrees(comm, x, 0.7, true) ? 1 : 0;
    in_rounds += agrees(comm, x, 0.45, x.beta == 0) ? 1 : 0;
  }
  EXPECT_GE(in_rounds, 4);  // of 12: kernels pack as much in any round
}

TEST(Rounds, FitWhereOperandsDoNot) {
  for (const index_t ranks : {2, 4, 6, 7}) {
    const ForecastRequest q{.m = 3001, .n = 2999, .k = 3003, .ranks = ranks, .inside = true};
    Method method{.threads = 1};
    index_t home = 0;
    for (const Forecast& f : plan_product(q, method).forecasts) home = std::max(home, f.home_bytes);
    const auto fits = [&](const Forecast& f) { return f.memory() <= home + home / 2; };
    EXPECT_FALSE(plan_in_rounds(q, method, fits).forecasts.empty()) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace tessera::dist::matmul
