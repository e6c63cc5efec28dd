// Transposes all, exchanges all (MPI all-to-all), unpacks all: three passes over memory, as
// libraries do.

#include "dist/transpose/blocks.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

Records whole(machine::Buffer<std::byte>& memory, const layout::Box& box, index_t bytes) {
  return {memory.data(), box.rows.size(), box.cols.size(), box.cols.size(), bytes};
}

}  // namespace

void alltoall(const mpi::Communicator& comm, const Task& task, const Method& method,
              mpi::Phases& phases) {
  const index_t bytes = task.a.bytes();
  const layout::MatrixLayout source = source_layout(task.a, task.op);
  if (source == task.b.layout()) {  // no data to exchange
    const mpi::PhaseScope scope(phases, "compute");
    update_block(method, task.scale, task.op, task.a.view(), task.b.view());
    return;
  }
  machine::Buffer<std::byte> packed, arrived;
  ConstRecords from = task.a.view();
  if (task.op == Op::transpose) {
    const mpi::PhaseScope scope(phases, "compute");
    packed = machine::Buffer<std::byte>(task.a.box().area() * bytes);
    const Records turned = whole(packed, source.of(comm.rank()), bytes);
    move_block(method, Op::transpose, from, turned);
    from = turned;
  }
  Records to = task.b.view();
  if (!task.scale.plain()) {
    arrived = machine::Buffer<std::byte>(task.b.box().area() * bytes);
    to = whole(arrived, task.b.box(), bytes);
  }
  {
    const mpi::PhaseScope scope(phases, "exchange");
    mpi::redistribute<std::byte>(comm, layout::in_bytes(source, bytes), in_bytes(from),
                                 layout::in_bytes(task.b.layout(), bytes), in_bytes(to));
  }
  if (task.scale.plain()) return;
  const mpi::PhaseScope scope(phases, "unpack");
  update_block(method, task.scale, Op::none, to, task.b.view());
}

}  // namespace tessera::inline v1::dist::transpose
