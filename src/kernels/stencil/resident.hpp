#pragma once
// What ranks need of their devices to sweep fields together that stay there, beside the sweeps
// themselves: ghosts, and halos between a level and where they lie packed.

#include "kernels/stencil/cuda_sweep.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {

/// Boxes of a level, each packed row by row somewhere else.
template <class T>
struct HaloPieces {
  static constexpr int most = 26;  // neighbours of a box
  struct Piece {
    T* packed;
    index_t first;        ///< in the level, from its point (0, 0, 0) on
    unsigned rows, cols;  ///< rows of a plane
    unsigned count;       ///< points
  };
  Index3 stride;  ///< of the level
  int pieces = 0;
  Piece piece[most];

  /// packed: room for all its points.
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

/// Where point i of a piece is in its level.
template <class T>
[[nodiscard]] TESSERA_HD index_t place_in_level(const typename HaloPieces<T>::Piece& piece,
                                                const Index3& stride, unsigned i) {
  const unsigned row = i / piece.cols, plane = row / piece.rows;
  return piece.first + plane * stride[0] + (row - plane * piece.rows) * stride[1] +
         (i - row * piece.cols);
}

template <class T>
struct ResidentKernels {
  /// Writes every ghost of a level of the sweep: what repeats its points, and what is constant or
  /// given (as level 0 has it).
  void (*fill_ghosts)(const DeviceSweep<T>& sweep, int level, DeviceStream stream);
  void (*pack)(const HaloPieces<T>& pieces, const T* level, DeviceStream stream);
  void (*unpack)(const HaloPieces<T>& pieces, T* level, DeviceStream stream);
};

/// nullptr in a build without CUDA.
template <class T>
[[nodiscard]] const ResidentKernels<T>* resident_kernels();

}  // namespace tessera::stencil
