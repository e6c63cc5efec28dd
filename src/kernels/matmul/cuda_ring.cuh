#pragma once
// Persistent blocks that walk over the tiles of C, warp-specialised: one thread copies boxes of the
// operands into a ring of stages in shared memory, several stages ahead, also across tiles; the
// other warps multiply. A `Tile` defines the tile (m, n), the depth of a stage along k, the number
// of stages, their bytes, the operands A and B (boxes, box_rows, box_cols), the number of threads,
// and the number of arrivals that release a stage.

#include <algorithm>

#include "kernels/matmul/cuda_device.cuh"
#include "kernels/matmul/cuda_exchange.cuh"
#include "kernels/matmul/cuda_tma.cuh"

namespace tessera::inline v1::matmul {

/// The position in the ring and the parity of its phase.
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

/// Returns the bytes of shared memory for the ring: stages aligned to 1024 bytes, and two barriers
/// per stage.
template <int stages>
constexpr unsigned ring_bytes(unsigned stage_bytes) {
  return stages * (stage_bytes + 16) + 1024;
}

/// Shared-memory addresses of stages and barriers.
template <class Tile>
struct Shared {
  unsigned tiles, full, empty;
  __device__ explicit Shared(const unsigned char* raw) {
    tiles = (shared_address(raw) + 1023) / 1024 * 1024;
    full = tiles + Tile::stages * Tile::stage_bytes;
    empty = full + Tile::stages * 8;
  }
  /// Initialises the barriers; all threads of the block must call it first.
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

/// Returns the row and column at which a tile begins.
template <class Tile, class T>
__device__ __forceinline__ int2 origin(const MatrixView<T>& c, int tile) {
  const int2 at = tile_number(tile, static_cast<int>((c.rows + Tile::m - 1) / Tile::m),
                              static_cast<int>((c.cols + Tile::n - 1) / Tile::n));
  return {at.x * Tile::m, at.y * Tile::n};
}

/// Copies one operand's part of a stage: rows of A (columns of B) from `first`, from k on.
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

/// Copies the operands of all parts: the producer, run by the copying thread.
template <class Tile, class T>
__device__ __forceinline__ void copy_operands(const MatrixView<T>& c, const CUtensorMap& map_a,
                                              const CUtensorMap& map_b, const Shared<Tile>& shared,
                                              const Shares& shares) {
  Ring<Tile::stages> ring{0, 1};
  Parts parts(shares, static_cast<int>(blockIdx.x));
  for (Part part; parts.next(part);) {
    const int2 at = origin<Tile>(c, part.tile);
    for (int step = part.begin; step < part.end; ++step) {
      barrier_wait(shared.empty + 8 * ring.stage, ring.parity);
      const unsigned to = shared.tiles + ring.stage * Tile::stage_bytes,
                     full = shared.full + 8 * ring.stage;
      barrier_expect(full, Tile::stage_bytes);
      copy_operand<typename Tile::A>(to, map_a, at.x, step * Tile::depth, full);
      copy_operand<typename Tile::B>(to + Tile::a_bytes, map_b, at.y, step * Tile::depth, full);
      ring.advance();
    }
  }
}

/// The barrier and the size of the multiplying warps.
template <class Tile>
struct Multipliers {
  static constexpr int threads = 32 * Tile::warps, slot = Tile::m * Tile::n;
  __device__ __forceinline__ static void meet() {
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
  }
};

/// The consumer's view of the stages.
template <class Tile>
class Stages {
 public:
  __device__ explicit Stages(const Shared<Tile>& shared) : shared_(shared) {}
  [[nodiscard]] __device__ __forceinline__ unsigned address() const {
    return shared_.tiles + ring_.stage * Tile::stage_bytes;
  }
  /// Waits until the stage is full; returns its address.
  __device__ __forceinline__ unsigned wait() const {
    barrier_wait(shared_.full + 8 * ring_.stage, ring_.parity);
    return address();
  }
  /// Advances to the next stage; all values of this one must have been loaded, but may not have
  /// been used yet. An arrival can overtake loads issued before it, and a copy would then overwrite
  /// data that they have yet to read (observed on an H200). So a stage is released one stage later,
  /// after its values have been used.
  __device__ __forceinline__ void advance() {
    __syncwarp();
    if (threadIdx.x % 32 == 0 && held_) barrier_arrive(shared_.empty + 8 * ring_.before());
    held_ = true;
    ring_.advance();
  }

 private:
  const Shared<Tile>& shared_;
  Ring<Tile::stages> ring_;
  bool held_ = false;  // this thread's warp has yet to release the previous stage
};

/// Multiplies all parts: the consumer, run by the multiplying warps. Sums starts at zeros;
/// add(sums, stages, steps) adds the products of `steps` stages and advances past them; store(sums,
/// row0, col0) stores the tile of C that begins there.
template <class Tile, class Sums, class T, class Add, class Store>
__device__ __forceinline__ void multiply_parts(const MatrixView<T>& c, const Shared<Tile>& shared,
                                               const Shares& shares, const Exchange<T>& exchange,
                                               const Add& add, const Store& store) {
  Stages<Tile> stages(shared);
  Parts parts(shares, static_cast<int>(blockIdx.x));
  for (Part part; parts.next(part);) {
    Sums sums;
    if (part.end > part.begin) add(sums, stages, part.end - part.begin);
    if (shares.adds_elsewhere(part)) {
      send_sums<Multipliers<Tile>>(exchange, sums);
      continue;
    }
    add_sums<Multipliers<Tile>>(exchange, shares.helpers(part, static_cast<int>(blockIdx.x)), sums);
    const int2 at = origin<Tile>(c, part.tile);
    store(sums, at.x, at.y);
  }
}

/// Returns the division of the tiles among the blocks of a ring: as many blocks as are resident at
/// once (per_multiprocessor each), at most one per tile. cut: tiles may be cut along k, by a kernel
/// that exchanges sums.
template <class Tile, class T>
Shares ring_shares(const MatrixView<T>& c, index_t k, int per_multiprocessor,
                   const DeviceLimits& limits, bool cut) {
  const int tiles = narrow<int>(ceil_div(c.rows, Tile::m) * ceil_div(c.cols, Tile::n)),
            steps = narrow<int>(ceil_div(k, Tile::depth)),
            blocks = std::min(tiles, per_multiprocessor * limits.multiprocessors);
  return cut ? shares_of(tiles, steps, blocks) : Shares{tiles, steps, blocks, tiles};
}

template <class Tile, class... Arguments>
void launch_ring(void (*kernel)(Arguments...), const Shares& shares, DeviceStream stream,
                 const Arguments&... arguments) {
  namespace cuda = machine::cuda;
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes),
      "cudaFuncSetAttribute");
  kernel<<<static_cast<unsigned>(shares.blocks), Tile::threads, Tile::shared_bytes, stream>>>(
      arguments...);
  cuda::check(cudaGetLastError(), "matmul kernel");
}

/// Launches kernel(map_a, map_b, g, shares, exchange) with such shares.
template <class Tile, class T, class Kernel>
void launch_parts(Kernel kernel, const CUtensorMap& map_a, const CUtensorMap& map_b,
                  const Gemm<T>& g, const DeviceLimits& limits, DeviceStream stream) {
  const Shares shares = ring_shares<Tile>(g.c, g.k(), Tile::blocks, limits, true);
  with_exchange<T>(shares, Tile::m * Tile::n, stream, [&](const Exchange<T>& exchange) {
    launch_ring<Tile>(kernel, shares, stream, map_a, map_b, g, shares, exchange);
  });
}

}  // namespace tessera::inline v1::matmul
