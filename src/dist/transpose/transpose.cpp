// Checks of a transpose and dispatch to its algorithm.

#include "dist/transpose/transpose.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "dist/transpose/blocks.hpp"

namespace tessera::dist::transpose {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table{
      {"alltoall", Algorithm::alltoall,
       "every rank transposes all it has, all exchange at once, all unpack"},
      {"pairwise", Algorithm::pairwise,
       "pair by pair in pieces of a few MiB, one transposed while the other travels"},
      {"shared", Algorithm::shared,
       "ranks of a node write straight into each other's result (MPI-3 windows); pairwise beyond "
       "the node"}};
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
  throw Error(ExitCode::usage, fmt::format("scale.number: {} is none", static_cast<int>(number)));
}

/// Throws Error(usage) that names the argument inconsistent with the others.
void check(const mpi::Communicator& comm, const Task& task, const Method& method) {
  for (const auto& [name, x] : {std::pair<const char*, const DistributedRecords*>("a", &task.a),
                                std::pair<const char*, const DistributedRecords*>("b", &task.b)}) {
    require(x->layout().ranks() == comm.size(), ExitCode::usage,
            fmt::format("{}: it lies on {} ranks and comm has {}", name, x->layout().ranks(),
                        comm.size()));
  }
  const auto [rows, cols] = task.op == Op::transpose ? std::pair(task.a.cols(), task.a.rows())
                                                     : std::pair(task.a.rows(), task.a.cols());
  require(task.b.rows() == rows && task.b.cols() == cols, ExitCode::usage,
          fmt::format("b: op(a) has {} x {} records and b {} x {}", rows, cols, task.b.rows(),
                      task.b.cols()));
  require(task.a.bytes() == task.b.bytes(), ExitCode::usage,
          fmt::format("b: its records have {} bytes and those of a {}", task.b.bytes(),
                      task.a.bytes()));
  require(&task.a != &task.b, ExitCode::usage,
          "b: it is a too, which is read while b is written; take transpose_in_place");
  require(task.scale.plain() || bytes_of(task.scale.number) == task.b.bytes(), ExitCode::usage,
          fmt::format("scale.number: numbers of {} bytes, and the records have {}",
                      bytes_of(task.scale.number), task.b.bytes()));
  require(method.piece_bytes >= 1, ExitCode::usage,
          fmt::format("piece_bytes: at least 1, not {}", method.piece_bytes));
  require(method.algorithm != Algorithm::shared || task.b.shared() || comm.size() == 1,
          ExitCode::usage, "the algorithm shared needs a result in shared memory; choose pairwise");
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

}  // namespace tessera::dist::transpose
