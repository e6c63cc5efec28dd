#pragma once
// Device operations of ranks that sweep fields together which stay on their devices, apart from the
// sweeps themselves: ghosts, and packing and unpacking of halos.

#include "kernels/stencil/cuda_sweep.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {

/// Boxes of a level, each packed row by row in a separate buffer.
template <class T>
struct HaloPieces {
  static constexpr int most = 26;  // neighbours of a box
  struct Piece {
    T* packed;
    index_t first;        ///< element in the level, relative to its point (0, 0, 0)
    unsigned rows, cols;  ///< rows per plane, and their length
    unsigned count;       ///< points
  };
  Index3 stride;  ///< of the level
  int pieces = 0;
  Piece piece[most];

  /// Adds a box; packed must have space for all its points.
  void add(const Box3& box, T* packed) {
    const Index3 size = box.size();
    const index_t first = box.low[0] * stride[0] + box.low[1] * stride[1] + box.low[2];
    TESSERA_EXPECTS(pieces < most);
    piece[pieces++] = {packed, first, narrow<unsigned>(size[1]), narrow<unsigned>(size[2]),
                       static_cast<unsigned>(narrow<int>(size.volume()))};
  }
  [[nodiscard]] unsigned largest() const {
    unsigned count = 0;
    for (int i = 0; i < pieces; ++i) count = piece[i].count > count ? piece[i].count : count;
    return count;
  }
};

/// Returns the position of point i of a piece in its level.
template <class T>
[[nodiscard]] TESSERA_HD index_t place_in_level(const typename HaloPieces<T>::Piece& piece,
                                                const Index3& stride, unsigned i) {
  const unsigned row = i / piece.cols, plane = row / piece.rows;
  return piece.first + plane * stride[0] + (row - plane * piece.rows) * stride[1] +
         (i - row * piece.cols);
}

template <class T>
struct ResidentKernels {
  /// Writes every ghost of a level of the sweep: repeated points, and values that are constant or
  /// given (as in level 0).
  void (*fill_ghosts)(const DeviceSweep<T>& sweep, int level, DeviceStream stream);
  void (*pack)(const HaloPieces<T>& pieces, const T* level, DeviceStream stream);
  void (*unpack)(const HaloPieces<T>& pieces, T* level, DeviceStream stream);
};

/// Returns nullptr in a build without CUDA.
template <class T>
[[nodiscard]] const ResidentKernels<T>* resident_kernels();
template <class T>
[[nodiscard]] const ResidentKernels<T>* compiled_kernels();  // those of libtessera_cuda.so

}  // namespace tessera::inline v1::stencil
