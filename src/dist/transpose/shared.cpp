// One pass: every rank transposes its block directly into the results of the ranks of its node, and
// exchanges pairwise with the others.

#include "dist/transpose/blocks.hpp"

namespace tessera::inline v1::dist::transpose {

void shared(const mpi::Communicator& comm, const Task& task, const Method& method,
            mpi::Phases& phases) {
  const layout::MatrixLayout source = source_layout(task.a, task.op);
  const index_t ranks = comm.size();
  {
    const mpi::PhaseScope scope(phases, "exchange");
    task.b.fence();  // no rank reads or writes its own block any more
  }
  const auto write_node = [&] {
    const mpi::PhaseScope scope(phases, "compute");
    for (index_t phase = 0; phase < ranks;
         ++phase) {  // peers in rotation: ranks do not all write to the same block at once
      const index_t peer = (comm.rank() + phase) % ranks;
      if (!task.b.reaches(peer)) continue;
      const layout::Box common = intersect(source.of(comm.rank()), task.b.layout().of(peer));
      if (common.empty()) continue;
      update_block(method, task.scale, task.op, source_part(task.a, task.op, common),
                   part(task.b.block_of(peer), task.b.layout().of(peer), common));
    }
  };
  pairwise_beyond_reach(
      comm, task, method, [&](index_t peer) { return task.b.reaches(peer); }, write_node, phases);
  const mpi::PhaseScope scope(phases, "exchange");
  task.b.fence();
}

}  // namespace tessera::inline v1::dist::transpose
