#include "dist/transpose/transpose.hpp"

#include "dist/transpose/blocks.hpp"

namespace tessera::dist::transpose {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table{
      {"alltoall", Algorithm::alltoall, "every rank transposes all it has, all exchange at once, all unpack"},
      {"pairwise", Algorithm::pairwise,
       "pair by pair in pieces of a few MiB, one transposed while the other travels"},
      {"shared", Algorithm::shared,
       "ranks of a node write straight into each other's result (MPI-3 windows); pairwise beyond the node"}};
  return table;
}

void transpose_matrix(const mpi::Communicator& comm, const Task& task, const Method& method,
                      mpi::Phases& phases) {
  TESSERA_EXPECTS(task.a.layout().ranks() == comm.size() && task.b.layout().ranks() == comm.size());
  TESSERA_EXPECTS(task.a.bytes() == task.b.bytes());
  require(method.algorithm != Algorithm::shared || task.b.shared() || comm.size() == 1, ExitCode::usage,
          "the algorithm shared needs a result in shared memory; choose pairwise");
  if (task.scale.alpha == 0) {  // a is not read: nothing travels
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
