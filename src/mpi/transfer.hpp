#pragma once
// Blocks of matrices from one layout to another.

#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Moves data from its home to where it is needed. `from` views this rank's home box, `to` its need box (each
/// empty when the box is). Elements of `to` that no home covers stay as they are. Collective.
/// Records of any size travel as std::byte between layouts in_bytes().
template <class T>
void redistribute(const Communicator& comm, const layout::MatrixLayout& home, MatrixView<const T> from,
                  const layout::MatrixLayout& need, MatrixView<T> to);

/// A local copy of a block, contiguous.
template <class T>
void copy_block(MatrixView<const T> from, MatrixView<T> to);

}  // namespace tessera::mpi
