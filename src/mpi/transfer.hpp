#pragma once
// Redistribution of matrices between layouts.

#include <cstddef>
#include <type_traits>
#include <vector>

#include "base/complex.hpp"
#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// Moves data from its home to its need. `from` views this rank's home box, `to` its need box (each
/// empty if the box is). Elements of `to` that no home covers are not modified. Records of any size
/// travel as std::byte between layouts in_bytes(). Throws Error(usage) on inconsistent views.
/// Collective.
template <class T>
void redistribute(const Communicator& comm, const layout::MatrixLayout& home,
                  std::type_identity_t<MatrixView<const T>> from, const layout::MatrixLayout& need,
                  MatrixView<T> to);

/// Types that are moved in their own units; other trivially copyable ones as bytes.
template <class T>
inline constexpr bool is_moved_whole = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                       std::is_same_v<T, std::byte> || is_complex<T>;
template <class T>
requires(!is_moved_whole<T> && std::is_trivially_copyable_v<T>) void redistribute(
    const Communicator& comm, const layout::MatrixLayout& home,
    std::type_identity_t<MatrixView<const T>> from, const layout::MatrixLayout& need,
    MatrixView<T> to) {
  constexpr auto bytes = index_t{sizeof(T)};
  redistribute<std::byte>(comm, layout::in_bytes(home, bytes), in_bytes(from),
                          layout::in_bytes(need, bytes), in_bytes(to));
}

/// A pending redistribution, started by the constructor and completed by finish(). Until then both
/// views must remain valid, and the boxes must not be accessed. Collective; several must be started
/// in the same order on all ranks. Non-contiguous pieces are packed in scratch, which grows as
/// needed and can be reused after finish().
template <class T>
class Redistribution {
 public:
  Redistribution(const Communicator& comm, const layout::MatrixLayout& home,
                 MatrixView<const T> from, const layout::MatrixLayout& need, MatrixView<T> to,
                 machine::Buffer<T>& scratch);
  /// Returns the messages of this rank. The caller may join them to others; finish() must then
  /// follow the wait for those.
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

/// Copies a block on this rank.
template <class T>
void copy_block(MatrixView<const T> from, MatrixView<T> to);

}  // namespace tessera::inline v1::mpi
