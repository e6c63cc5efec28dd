#pragma once
// Blocks of matrices from one layout to another.

#include <vector>

#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Moves data from its home to where it is needed. `from` views this rank's home box, `to` its need
/// box (each empty when the box is). Elements of `to` that no home covers stay as they are.
/// Collective. Records of any size travel as std::byte between layouts in_bytes().
template <class T>
void redistribute(const Communicator& comm, const layout::MatrixLayout& home,
                  MatrixView<const T> from, const layout::MatrixLayout& need, MatrixView<T> to);

/// A redistribution under way: begun where it is made, ended by finish(). Until then both views
/// stay, and neither home nor need is written or read. Collective, several in the same order on all
/// ranks. Pieces that are not contiguous are packed in scratch, which grows as needed and serves
/// for the next one afterwards.
template <class T>
class Redistribution {
 public:
  Redistribution(const Communicator& comm, const layout::MatrixLayout& home,
                 MatrixView<const T> from, const layout::MatrixLayout& need, MatrixView<T> to,
                 machine::Buffer<T>& scratch);
  /// The messages of this rank. They may join others: finish() is then for when those have been
  /// waited for.
  [[nodiscard]] Request& request() { return request_; }
  void finish();

 private:
  struct Arrival {
    MatrixView<const T> packed;
    MatrixView<T> to;
  };
  Request request_;
  std::vector<Arrival> arrivals_;
};

/// A local copy of a block, contiguous.
template <class T>
void copy_block(MatrixView<const T> from, MatrixView<T> to);

}  // namespace tessera::mpi
