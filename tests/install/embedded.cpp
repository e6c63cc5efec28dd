// External program that has MPI for itself: two of its three ranks multiply and sort through the
// C++ API, on its own communicator, while the third one waits for their verdict.

#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <span>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using tessera::index_t;
using Complex = std::complex<double>;
using Matrix = tessera::dist::DistributedMatrix<Complex>;

constexpr index_t n = 30;

/// a(i, j) = i + factor * j.
Matrix matrix(const tessera::mpi::Communicator& comm, Complex factor) {
  Matrix result(comm, tessera::layout::row_blocks(n, n, comm.size()));
  const auto view = result.view();
  for (index_t i = 0; i < view.rows; ++i)
    for (index_t j = 0; j < view.cols; ++j)
      view(i, j) =
          static_cast<double>(result.box().rows.begin + i) + factor * static_cast<double>(j);
  return result;
}

index_t wrong_products(const tessera::mpi::Communicator& comm) {
  const Matrix a = matrix(comm, {0, 1}), b = matrix(comm, -1);
  Matrix c = matrix(comm, 0);
  tessera::dist::matmul::multiply(comm, a, b, c);
  index_t wrong = 0;
  const auto view = c.view();
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      Complex sum = 0;
      for (index_t k = 0; k < n; ++k)
        sum += Complex(static_cast<double>(c.box().rows.begin + i), static_cast<double>(k)) *
               static_cast<double>(k - j);
      wrong += view(i, j) == sum ? 0 : 1;
    }
  }
  return comm.sum(wrong);
}

int wrong_keys(const tessera::mpi::Communicator& comm) {
  std::vector<long long> keys(static_cast<std::size_t>(10 * (comm.rank() + 1)));
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<long long>(i * 7919 % 101) - 50;
  const auto count = comm.sum(keys.size());
  tessera::dist::sort::sort_keys(comm, keys);
  const bool right = std::is_sorted(keys.begin(), keys.end()) && comm.sum(keys.size()) == count;
  return static_cast<int>(comm.sum(right ? 0 : 1));
}

/// Moves a(i, j) = 1000 i + j from a to b, of m x n elements on the two ranks of comm.
void move(const tessera::mpi::Communicator& comm, index_t m, const double* a, index_t a_ld,
          double* b, index_t b_ld) {
  using namespace tessera;
  // 64 x 64 blocks on a 2 x 1 grid, column-major, to whole rows
  const layout::BlockCyclic cyclic{{.extent = m, .block = 64, .parts = 2},
                                   {.extent = n, .block = 64, .parts = 1}};
  const dist::relayout::Relayout matrix{
      layout::Distribution(cyclic, comm.size()), dist::relayout::Op::none,
      layout::Distribution(layout::row_blocks(m, n, comm.size())),
      dist::relayout::StorageOrder::column_major, dist::relayout::StorageOrder::row_major};
  dist::relayout::Plan plan(comm, std::span(&matrix, 1), sizeof(double));
  const dist::relayout::LocalArray<const double> from{a, a_ld};
  const dist::relayout::LocalArray<double> to{b, b_ld};
  const dist::relayout::Memory<double> memory{std::span(&from, 1), std::span(&to, 1)};
  plan.execute<double>(std::span(&memory, 1));
}

/// Turns a(x, y, z) = 100 (10 x + y) + z of lines of z to lines of y on 1 x 2 ranks.
int wrong_turns(const tessera::mpi::Communicator& comm) {
  using namespace tessera;
  constexpr index_t nx = 3, ny = 8, nz = 6, p = 1, q = 2, elements = nx * ny * nz / 2;
  std::vector<double> shares(2 * elements);
  double *const a = shares.data(), *const b = a + elements;
  const auto value = [](index_t x, index_t y, index_t z) {
    return static_cast<double>(100 * (10 * x + y) + z);
  };
  for (index_t k = 0; k < elements; ++k)
    a[k] = value(k / (nz * ny / q), comm.rank() * (ny / q) + k / nz % (ny / q), k % nz);
  using layout::in_shares;
  const layout::ArrayGrid lines_of_z{{in_shares({nx, p}), in_shares({ny, q}), in_shares({nz, 1})}},
      lines_of_y{{in_shares({nx, p}), in_shares({nz, q}), in_shares({ny, 1})}};
  const std::vector<int> axes{0, 2, 1};  // axis k of b is axis axes[k] of a
  dist::transpose::PermutePlan turn(comm, {lines_of_z, axes, lines_of_y, sizeof(double)});
  turn.execute(a, b);  // or start(a, b), other work, wait(); allocates nothing
  int wrong = 0;
  for (index_t k = 0; k < elements; ++k)
    wrong += b[k] == value(k / (ny * nz / q), k % ny, comm.rank() * (nz / q) + k / ny % (nz / q))
                 ? 0
                 : 1;
  return comm.sum(wrong);
}

/// c = 2 a b^T - c, `steps` times, of n x n matrices: this rank's rows, those of c in columns.
void multiply(const tessera::mpi::Communicator& comm, int steps, const double* a, const double* b,
              double* c) {
  using namespace tessera;
  using dist::matmul::Op;
  using dist::relayout::StorageOrder;
  const layout::Distribution rows(layout::row_blocks(n, n, comm.size()));
  dist::matmul::MultiplyPlan<double> plan(
      comm, {{rows}, Op::none, {rows}, Op::transpose, {rows, StorageOrder::column_major}});
  for (int step = 0; step < steps; ++step)
    plan.execute(2, {a, n}, {b, n}, -1, {c, n / comm.size()});
}

/// Of a(i, p) = i and b(j, p) = j: a b^T is n i j, which 2 a b^T - c leaves as it is.
int wrong_plans(const tessera::mpi::Communicator& comm) {
  const index_t mine = n / 2;
  std::vector<double> a(mine * n), c(mine * n, 7);
  const auto row = [&](index_t i) { return static_cast<double>(comm.rank() * mine + i); };
  for (index_t i = 0; i < mine; ++i)
    for (index_t p = 0; p < n; ++p) a[static_cast<std::size_t>(i * n + p)] = row(i);
  for (index_t i = 0; i < mine; ++i)
    for (index_t j = 0; j < n; ++j)
      c[static_cast<std::size_t>(j * mine + i)] = n * row(i) * static_cast<double>(j);
  const std::vector<double> want = c;
  multiply(comm, 3, a.data(), a.data(), c.data());
  return comm.sum(c == want ? 0 : 1);
}

int wrong_moves(const tessera::mpi::Communicator& comm) {
  constexpr index_t m = 200, block = 64, a_ld = 128;
  std::vector<double> a(a_ld * n), b(m / 2 * n);
  for (index_t i = 0; i < m; ++i) {
    if (i / block % 2 != comm.rank()) continue;
    const index_t here = i / (2 * block) * block + i % block;
    for (index_t j = 0; j < n; ++j)
      a[static_cast<std::size_t>(j * a_ld + here)] = static_cast<double>(1000 * i + j);
  }
  move(comm, m, a.data(), a_ld, b.data(), n);
  int wrong = 0;
  for (index_t i = 0; i < m / 2; ++i)
    for (index_t j = 0; j < n; ++j)
      wrong += b[static_cast<std::size_t>(i * n + j)] ==
                       static_cast<double>(1000 * (comm.rank() * (m / 2) + i) + j)
                   ? 0
                   : 1;
  return comm.sum(wrong);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, wrong = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 1 : MPI_UNDEFINED, -rank, &part);
  if (const tessera::mpi::Communicator comm(part); comm) {
    wrong = static_cast<int>(wrong_products(comm)) + wrong_keys(comm) + wrong_moves(comm) +
            wrong_turns(comm) + wrong_plans(comm);
    if (comm.is_root()) MPI_Send(&wrong, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&wrong, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("%d of %d elements wrong\n", wrong, static_cast<int>(n * n));
  }
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
