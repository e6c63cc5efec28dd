// Checks of a transpose and dispatch to its algorithm.

#include "dist/transpose/transpose.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "dist/transpose/blocks.hpp"

namespace tessera::inline v1::dist::transpose {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table{
      {"alltoall", Algorithm::alltoall, "local transposes, one all-to-all exchange, unpack"},
      {"pairwise", Algorithm::pairwise, "pairwise exchange in pieces, overlapped with transposes"},
      {"shared", Algorithm::shared, "MPI-3 shared memory in a node, pairwise between nodes"}};
  return table;
}

namespace {

index_t bytes_of(Number number) {
  switch (number) {
    case Number::opaque:
      return 0;
    case Number::f32:
      return 4;
    case Number::f64:
    case Number::c64:
      return 8;
    case Number::c128:
      return 16;
  }
  throw Error::of_argument(
      "scale.number", fmt::format("is {}: must be a value of Number", static_cast<int>(number)));
}

/// Throws Error(usage) that names the argument inconsistent with the others.
void check(const mpi::Communicator& comm, const Task& task, const Method& method) {
  for (const auto& [name, x] : {std::pair<const char*, const DistributedRecords*>("a", &task.a),
                                std::pair<const char*, const DistributedRecords*>("b", &task.b)}) {
    require_argument(
        x->layout().ranks() == comm.size(), name,
        fmt::format("is distributed over {} ranks: comm has {}", x->layout().ranks(), comm.size()));
  }
  const auto [rows, cols] = task.op == Op::transpose ? std::pair(task.a.cols(), task.a.rows())
                                                     : std::pair(task.a.rows(), task.a.cols());
  require_argument(task.b.rows() == rows && task.b.cols() == cols, "b",
                   fmt::format("does not match op(a): op(a) is {} x {}, b is {} x {}", rows, cols,
                               task.b.rows(), task.b.cols()));
  require_argument(
      task.a.bytes() == task.b.bytes(), "b",
      fmt::format("has records of {} bytes: must be {}, as in a", task.b.bytes(), task.a.bytes()));
  require_argument(
      &task.a != &task.b, "b",
      "is the same matrix as a, which is read while b is written; use transpose_in_place");
  require_argument(task.scale.plain() || bytes_of(task.scale.number) == task.b.bytes(),
                   "scale.number",
                   fmt::format("has {} bytes: must be {}, the size of a record",
                               bytes_of(task.scale.number), task.b.bytes()));
  require_argument(method.piece_bytes >= 1, "piece_bytes",
                   fmt::format("is {}: must be at least 1", method.piece_bytes));
  require_argument(method.algorithm != Algorithm::shared || task.b.shared() || comm.size() == 1,
                   "algorithm", "shared needs b in shared memory; use pairwise");
}

}  // namespace

void transpose_matrix(const mpi::Communicator& comm, const Task& task, const Method& method,
                      mpi::Phases& phases) {
  check(comm, task, method);
  if (task.scale.alpha == 0) {  // a is not read, so nothing is sent
    const mpi::PhaseScope scope(phases, "compute");
    const ConstRecords unread{nullptr, task.b.view().rows, task.b.view().cols, task.b.view().cols,
                              task.b.bytes()};
    update_block(method, task.scale, Op::none, unread, task.b.view());
    return;
  }
  switch (method.algorithm) {
    case Algorithm::alltoall:
      alltoall(comm, task, method, phases);
      break;
    case Algorithm::pairwise:
      pairwise(comm, task, method, phases);
      break;
    case Algorithm::shared:
      shared(comm, task, method, phases);
      break;
  }
  mpi::add_device_phases(phases);
}

}  // namespace tessera::inline v1::dist::transpose
