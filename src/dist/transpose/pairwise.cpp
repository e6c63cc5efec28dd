// The sender transposes, so that what arrives has its rows in the target's order.

#include "dist/transpose/blocks.hpp"
#include "dist/transpose/pipeline.hpp"

namespace tessera::dist::transpose {
namespace {

/// b's own part of what this rank holds of op(a).
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
                           const std::function<void()>& meanwhile, mpi::Phases& phases) {
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
  Pipeline(comm, steps, bytes, pack, unpack, phases).run(meanwhile);
}

void pairwise(const mpi::Communicator& comm, const Task& task, const Method& method,
              mpi::Phases& phases) {
  const layout::MatrixLayout source = source_layout(task.a, task.op);
  pairwise_beyond_reach(
      comm, task, method, [](index_t) { return false; },
      [&] { own_part(comm, task, source, method, phases); }, phases);
}

}  // namespace tessera::dist::transpose
