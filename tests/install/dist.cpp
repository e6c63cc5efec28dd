// External program that multiplies in memory alone: it links tessera::dist, hence no HDF5.
//   a(i, p) = i - p on all ranks, b = the identity: c = a.

#include <cstdio>
#include <tessera/matmul.hpp>
#include <tessera/mpi.hpp>

#ifdef H5_VERS_MAJOR
#error "HDF5 belongs to tessera/io.hpp"
#endif

namespace {

using tessera::index_t;
using Matrix = tessera::dist::DistributedMatrix<double>;

template <class Element>
Matrix matrix(const tessera::mpi::Communicator& comm, index_t n, Element element) {
  Matrix result(comm, tessera::layout::row_blocks(n, n, comm.size()));
  const auto view = result.view();
  for (index_t i = 0; i < view.rows; ++i)
    for (index_t j = 0; j < n; ++j) view(i, j) = element(result.box().rows.begin + i, j);
  return result;
}

tessera::ExitCode body(const tessera::mpi::Communicator& comm) {
  constexpr index_t n = 25;
  const Matrix a = matrix(comm, n, [](index_t i, index_t p) { return static_cast<double>(i - p); });
  const Matrix b = matrix(comm, n, [](index_t p, index_t j) { return p == j ? 1.0 : 0.0; });
  Matrix c = matrix(comm, n, [](index_t, index_t) { return -1.0; });
  tessera::dist::matmul::multiply(comm, a, b, c);
  index_t wrong = 0;
  for (index_t i = 0; i < c.view().rows; ++i)
    for (index_t j = 0; j < n; ++j) wrong += c.view()(i, j) == a.view()(i, j) ? 0 : 1;
  wrong = comm.sum(wrong);
  if (comm.is_root()) std::printf("%lld of 625 elements wrong\n", static_cast<long long>(wrong));
  return wrong == 0 ? tessera::ExitCode::ok : tessera::ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) { return tessera::mpi::run_main(&argc, &argv, body); }
