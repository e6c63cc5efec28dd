// Pairwise exchange: the sender transposes, so that pieces arrive with rows in the target's order.
// Pieces are packed, sent and unpacked in a pipeline (double buffering).

#include "dist/transpose/blocks.hpp"
#include "dist/transpose/pipeline.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

/// Updates the part of b that this rank's block of a provides.
void own_part(const mpi::Communicator& comm, const Task& task, const layout::MatrixLayout& source,
              const Method& method, mpi::Phases& phases) {
  const layout::Box common = intersect(source.of(comm.rank()), task.b.box());
  if (common.empty()) return;
  const mpi::PhaseScope scope(phases, "compute");
  update_block(method, task.scale, task.op, source_part(task.a, task.op, common),
               part(task.b.view(), task.b.box(), common));
}

}  // namespace

void pairwise_beyond_reach(const mpi::Communicator& comm, const Task& task, const Method& method,
                           const std::function<bool(index_t)>& reaches,
                           const std::function<void()>& overlapped, mpi::Phases& phases) {
  const index_t bytes = task.a.bytes();
  const layout::MatrixLayout source = source_layout(task.a, task.op);
  const auto steps =
      pairwise_steps(source, task.b.layout(), comm.rank(), method.piece_bytes / bytes, reaches);
  const auto pack = [&](const layout::Box& box, const Records& to) {
    move_block(method, task.op, source_part(task.a, task.op, box), to);
  };
  const auto unpack = [&](const layout::Box& box, const ConstRecords& from) {
    update_block(method, task.scale, Op::none, from, part(task.b.view(), task.b.box(), box));
  };
  Pipeline(comm, steps, bytes, pack, unpack, phases).run(overlapped);
}

void pairwise(const mpi::Communicator& comm, const Task& task, const Method& method,
              mpi::Phases& phases) {
  const layout::MatrixLayout source = source_layout(task.a, task.op);
  pairwise_beyond_reach(
      comm, task, method, [](index_t) { return false; },
      [&] { own_part(comm, task, source, method, phases); }, phases);
}

}  // namespace tessera::inline v1::dist::transpose
