#pragma once
// Operations of one rank on blocks that it can access; private to this folder.

#include "base/element.hpp"
#include "dist/transpose/plan.hpp"
#include "dist/transpose/transpose.hpp"

namespace tessera::inline v1::dist::transpose {

/// Returns the layout of op(a) at a's homes, in the indices of b.
[[nodiscard]] layout::MatrixLayout source_layout(const DistributedRecords& a, Op op);

/// Returns the part `box` of a block that covers `whole`, both in the indices of one matrix.
template <class Byte>
[[nodiscard]] tessera::transpose::RecordView<Byte> part(
    const tessera::transpose::RecordView<Byte>& block, const layout::Box& whole,
    const layout::Box& box) {
  return block.block(box.rows.begin - whole.rows.begin, box.cols.begin - whole.cols.begin,
                     box.rows.size(), box.cols.size());
}
/// Returns the part of this rank's block of a from which op(a)[box] is made.
[[nodiscard]] ConstRecords source_part(const DistributedRecords& a, Op op, const layout::Box& box);

/// Computes b = op(a).
void move_block(const Method& method, Op op, const ConstRecords& a, const Records& b);
/// Returns f(Type<T>{}) for the type of the numbers.
template <class F>
decltype(auto) dispatch_number(Number number, const F& f) {
  switch (number) {
    case Number::f32:
      return f(Type<float>{});
    case Number::c64:
      return f(Type<std::complex<float>>{});
    case Number::c128:
      return f(Type<std::complex<double>>{});
    case Number::f64:
    case Number::opaque:
      break;
  }
  return f(Type<double>{});
}
/// Computes b = alpha * op(a) + beta * b.
void update_block(const Method& method, const Scale& scale, Op op, const ConstRecords& a,
                  const Records& b);

/// The algorithms; the caller handles alpha == 0.
void alltoall(const mpi::Communicator& comm, const Task& task, const Method& method,
              mpi::Phases& phases);
void pairwise(const mpi::Communicator& comm, const Task& task, const Method& method,
              mpi::Phases& phases);
void shared(const mpi::Communicator& comm, const Task& task, const Method& method,
            mpi::Phases& phases);

/// Runs the pairwise exchange with all ranks except those whose block of b this rank reaches; calls
/// `overlapped` while the first pieces are in flight.
void pairwise_beyond_reach(const mpi::Communicator& comm, const Task& task, const Method& method,
                           const std::function<bool(index_t)>& reaches,
                           const std::function<void()>& overlapped, mpi::Phases& phases);

}  // namespace tessera::inline v1::dist::transpose
