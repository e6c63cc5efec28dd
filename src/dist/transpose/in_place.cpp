// In-place transpose: by the kernel on one rank, otherwise by pairwise swaps of blocks of a square
// matrix.

#include "kernels/transpose/in_place.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "dist/transpose/blocks.hpp"
#include "dist/transpose/pipeline.hpp"

namespace tessera::inline v1::dist::transpose {

void transpose_in_place(const mpi::Communicator& comm, DistributedRecords& matrix,
                        const Method& method, mpi::Phases& phases) {
  const index_t rows = matrix.rows(), cols = matrix.cols(), bytes = matrix.bytes();
  require_argument(matrix.layout().ranks() == comm.size(), "matrix",
                   fmt::format("is distributed over {} ranks: comm has {}", matrix.layout().ranks(),
                               comm.size()));
  for (const layout::Box& box : matrix.layout().boxes) {
    require_argument(box.empty() || box.cols == layout::Range{0, cols}, "matrix",
                     fmt::format("has the box {}: a transpose in place needs blocks of whole rows",
                                 layout::text(box)));
  }
  require_argument(method.piece_bytes >= 1, "piece_bytes",
                   fmt::format("is {}: must be at least 1", method.piece_bytes));
  if (comm.size() == 1) {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    tessera::transpose::in_place(matrix.view().data, rows, cols, bytes, method.tuning);
    matrix.rename(layout::row_blocks(cols, rows, 1));
    return;
  }
  require_argument(
      rows == cols, "matrix",
      "is not square: must be, in place on several ranks; use one rank or a second matrix");
  const layout::Box& home = matrix.box();
  const auto steps = swap_steps(matrix.layout(), comm.rank(), method.piece_bytes / bytes);
  const auto pack = [&](const layout::Box& box, const Records& to) {
    move_block(method, Op::transpose, source_part(matrix, Op::transpose, box), to);
  };
  const auto unpack = [&](const layout::Box& box, const ConstRecords& from) {
    move_block(method, Op::none, from, part(matrix.view(), home, box));
  };
  Pipeline(comm, steps, bytes, pack, unpack, phases).run([&] {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    tessera::transpose::in_place_square(part(matrix.view(), home, {home.rows, home.rows}),
                                        method.tuning);
  });
}

}  // namespace tessera::inline v1::dist::transpose
