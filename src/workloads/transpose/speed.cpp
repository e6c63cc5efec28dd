// Measures the transpose throughput of this rank, for shares by speed.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/timer.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {

double speed_of(const Problem& problem) {
  constexpr double long_enough = 0.05;  // seconds
  constexpr index_t most_bytes = index_t{32}
                                 << 20;  // of a matrix: larger than the caches of one core
  const auto& q = problem.shape;
  const auto edge =
      static_cast<index_t>(std::sqrt(static_cast<double>(most_bytes / q.element_bytes)));
  const index_t rows = std::min(ceil_div(q.rows, q.ranks), edge), cols = std::min(q.cols, edge);
  if (rows == 0 || cols == 0) return 1;
  const auto self = mpi::Communicator::self();
  dist::DistributedRecords a(self, layout::row_blocks(rows, cols, 1), q.element_bytes);
  const bool turns = q.op == dist::transpose::Op::transpose;
  dist::DistributedRecords b(
      self, turns ? layout::row_blocks(cols, rows, 1) : layout::row_blocks(rows, cols, 1),
      q.element_bytes);
  for (auto* const matrix : {&a, &b})
    std::memset(matrix->view().data, 0, static_cast<std::size_t>(rows * cols * q.element_bytes));
  auto method = problem.method;
  method.algorithm = dist::transpose::Algorithm::pairwise;
  mpi::Phases phases;
  const auto move = [&] { transpose_matrix(self, {a, q.op, b, q.scale}, method, phases); };
  move();  // starts libraries and a device
  index_t times = 0;
  const Timer timer;
  do {
    move();
    ++times;
  } while (timer.seconds() < long_enough);
  return 2 * static_cast<double>(times * rows * cols * q.element_bytes) / timer.seconds();
}

}  // namespace tessera::inline v1::workloads::transpose
