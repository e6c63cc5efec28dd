// External program: distributes two matrices, multiplies them through the C++ API and checks the
// product.
//   a(i, p) = i + p, b(p, j) = p - j: c(i, j) is a sum of squares and products, exact in doubles.

#include <cstdio>
#include <tessera/tessera.hpp>
#include <type_traits>

#include "base.hpp"  // the program's own: the library's is tessera/base.hpp
#include "matmul.hpp"

namespace {

using tessera::index_t;
using Matrix = tessera::dist::DistributedMatrix<double>;

constexpr index_t m = 41, n = 23, k = 67;

Matrix matrix(const tessera::mpi::Communicator& comm, index_t rows, index_t cols, index_t sign) {
  Matrix result(comm, tessera::layout::row_blocks(rows, cols, comm.size()));
  const auto view = result.view();
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      view(i, j) = static_cast<double>(result.box().rows.begin + i + sign * j);
    }
  }
  return result;
}

index_t expected(index_t i, index_t j) {
  index_t sum = 0;
  for (index_t p = 0; p < k; ++p) sum += (i + p) * (p - j);
  return sum;
}

tessera::ExitCode body(const tessera::mpi::Communicator& comm) {
  const Matrix a = matrix(comm, m, k, 1), b = matrix(comm, k, n, -1);
  Matrix c(comm, tessera::layout::row_blocks(m, n, comm.size()));
  tessera::dist::matmul::multiply(comm, a, b, c);

  index_t wrong = 0;
  const auto view = c.view();
  for (index_t i = 0; i < view.rows; ++i) {
    for (index_t j = 0; j < view.cols; ++j) {
      wrong += view(i, j) == static_cast<double>(expected(c.box().rows.begin + i, j)) ? 0 : 1;
    }
  }
  wrong = comm.sum(wrong);
  if (comm.is_root()) {
    std::printf("%d ranks, %lld of %lld elements wrong\n", comm.size(),
                static_cast<long long>(wrong), static_cast<long long>(m * n));
  }
  static_assert(TESSERA_VERSION_NUMBER >= 100 && own::failure == 3 &&
                std::is_same_v<tessera::MatrixView<double>, tessera::v1::MatrixView<double>> &&
                std::is_empty_v<own::Product>);
  return wrong == 0 ? tessera::ExitCode::ok : tessera::ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) { return tessera::mpi::run_main(&argc, &argv, body); }
