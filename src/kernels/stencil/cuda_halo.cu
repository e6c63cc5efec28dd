// Packs and unpacks halos, for all neighbours in one launch; also into the memory of another
// device, if this one can access it.

#include <algorithm>

#include "kernels/stencil/cuda_device.cuh"

namespace tessera::inline v1::stencil {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned most_blocks = 512;  // per piece: further points are taken in a grid-stride loop

enum class Direction { pack, unpack };

/// Copies pieces: blocks along x of pieces along y; adjacent threads access adjacent elements of
/// the packed piece (coalesced).
template <Direction direction, class T>
__global__ void __launch_bounds__(threads)
    move_pieces(const __grid_constant__ HaloPieces<T> pieces, T* level) {
  const typename HaloPieces<T>::Piece piece = pieces.piece[blockIdx.y];
  for (unsigned i = blockIdx.x * threads + threadIdx.x; i < piece.count; i += gridDim.x * threads) {
    T& at = level[place_in_level<T>(piece, pieces.stride, i)];
    if constexpr (direction == Direction::pack) {
      piece.packed[i] = at;
    } else {
      at = piece.packed[i];
    }
  }
}

template <Direction direction, class T>
void launch(const HaloPieces<T>& pieces, T* level, DeviceStream stream) {
  const unsigned largest = pieces.largest();
  if (largest == 0) return;
  const unsigned blocks = std::min(most_blocks, (largest + threads - 1) / threads);
  move_pieces<direction>
      <<<dim3(blocks, static_cast<unsigned>(pieces.pieces)), threads, 0, stream>>>(pieces, level);
  check_launch();
}

template <class T>
void pack(const HaloPieces<T>& pieces, const T* level, DeviceStream stream) {
  launch<Direction::pack>(pieces, const_cast<T*>(level), stream);
}
template <class T>
void unpack(const HaloPieces<T>& pieces, T* level, DeviceStream stream) {
  launch<Direction::unpack>(pieces, level, stream);
}

}  // namespace

template <class T>
const ResidentKernels<T>* compiled_kernels() {
  static constexpr ResidentKernels<T> kernels{fill_ghosts<T>, pack<T>, unpack<T>};
  return &kernels;
}
template const ResidentKernels<Half>* compiled_kernels();
template const ResidentKernels<float>* compiled_kernels();
template const ResidentKernels<double>* compiled_kernels();

void add_halo_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const std::string& type, T) {
    to.push_back(machine::device_function("halos", type + ", packed",
                                          move_pieces<Direction::pack, T>, int{threads}));
    to.push_back(machine::device_function("halos", type + ", unpacked",
                                          move_pieces<Direction::unpack, T>, int{threads}));
  };
  add("f16", Half{});
  add("f32", 0.0F);
  add("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
