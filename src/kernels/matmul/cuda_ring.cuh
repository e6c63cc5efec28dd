#pragma once
// Blocks that stay and walk over the tiles of C: one thread has boxes of the operands copied into a ring of
// stages in shared memory, several stages ahead, across tiles too; the other warps multiply. A `Tile` here
// has the tile (m, n), the depth of a stage along k, the number of stages, their bytes, the operands A and B
// (boxes, box_rows, box_cols), the number of threads, and how many arrivals give a stage back.

#include <algorithm>

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/cuda_tma.cuh"

namespace tessera::matmul {

/// Where a stage is in the ring, and the parity of its phase.
template <int stages>
struct Ring {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ int before() const { return stage == 0 ? stages - 1 : stage - 1; }
};

/// Of shared memory: stages that begin on 1024 bytes, and two barriers each.
template <int stages>
constexpr unsigned ring_bytes(unsigned stage_bytes) {
  return stages * (stage_bytes + 16) + 1024;
}

/// Addresses in shared memory.
template <class Tile>
struct Shared {
  unsigned tiles, full, empty;
  __device__ explicit Shared(const unsigned char* raw) {
    tiles = (shared_address(raw) + 1023) / 1024 * 1024;
    full = tiles + Tile::stages * Tile::stage_bytes;
    empty = full + Tile::stages * 8;
  }
  /// All threads of the block call it first.
  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < Tile::stages; ++stage) {
        barrier_init(full + 8 * stage, 1);
        barrier_init(empty + 8 * stage, Tile::arrivals);
      }
      barriers_ready();
    }
    __syncthreads();
  }
};

/// f(row0, col0) for this block's tiles.
template <class Tile, class T, class F>
__device__ __forceinline__ void for_tiles(const MatrixView<T>& c, const F& f) {
  const int rows = static_cast<int>((c.rows + Tile::m - 1) / Tile::m),
            cols = static_cast<int>((c.cols + Tile::n - 1) / Tile::n);
  for (int number = static_cast<int>(blockIdx.x); number < rows * cols;
       number += static_cast<int>(gridDim.x)) {
    const int2 tile = tile_number(number, rows, cols);
    f(tile.x * Tile::m, tile.y * Tile::n);
  }
}

/// One operand's part of a stage: rows of A (columns of B) from `first`, from k on.
template <class Operand>
__device__ __forceinline__ void copy_operand(unsigned to, const CUtensorMap& map, int first, int k,
                                             unsigned barrier) {
#pragma unroll
  for (int box = 0; box < Operand::boxes; ++box) {
    const int at = first + box * Operand::box_cols;
    copy_box(to + box * Operand::box_rows * swizzle_bytes, map, Operand::boxes == 1 ? first : k,
             Operand::boxes == 1 ? k : at, barrier);
  }
}

/// The copying thread's work.
template <class Tile, class T>
__device__ __forceinline__ void copy_operands(const MatrixView<T>& c, const CUtensorMap& map_a,
                                              const CUtensorMap& map_b, const Shared<Tile>& shared, int k) {
  Ring<Tile::stages> ring{0, 1};
  for_tiles<Tile>(c, [&](int row0, int col0) {
    for (int k0 = 0; k0 < k; k0 += Tile::depth) {
      barrier_wait(shared.empty + 8 * ring.stage, ring.parity);
      const unsigned to = shared.tiles + ring.stage * Tile::stage_bytes, full = shared.full + 8 * ring.stage;
      barrier_expect(full, Tile::stage_bytes);
      copy_operand<typename Tile::A>(to, map_a, row0, k0, full);
      copy_operand<typename Tile::B>(to + Tile::a_bytes, map_b, col0, k0, full);
      ring.advance();
    }
  });
}

/// As many blocks as run at once (per_multiprocessor on each), or as there are tiles.
template <class Tile, class T, class... Arguments>
void launch_ring(void (*kernel)(Arguments...), const MatrixView<T>& c, int per_multiprocessor,
                 const DeviceLimits& limits, DeviceStream stream, const Arguments&... arguments) {
  namespace cuda = machine::cuda;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes),
              "cudaFuncSetAttribute");
  const index_t tiles = ceil_div(c.rows, Tile::m) * ceil_div(c.cols, Tile::n);
  const auto blocks = narrow<unsigned>(std::min(tiles, index_t{per_multiprocessor} * limits.multiprocessors));
  kernel<<<blocks, Tile::threads, Tile::shared_bytes, stream>>>(arguments...);
  cuda::check(cudaGetLastError(), "matmul kernel");
}

}  // namespace tessera::matmul
