#pragma once
// Tiles of products by wgmma, on the tensor cores of compute capability 9.0: groups of four warps
// multiply directly from shared memory, where one thread copies boxes of the operands into a ring
// of stages. A `Tile` of cuda_ring.cuh, whose A and B are Operands, has besides
// - Multiply: the type Sum of its sums, and add<a_across, b_across>(sums, descriptor of a, of b,
//   keep), one instruction of 64 x n;
// - group_offset(group): where in a stage the 64 rows of a group of warps begin;
// - promotes: whether the sums of every stage are added to others, in registers.

#include "kernels/matmul/cuda_ring.cuh"

namespace tessera::inline v1::matmul {

// The registers of a 64 x 128 and of a 64 x 256 sum, as operands of one instruction.
#define TESSERA_TEXT8(a, b, c, d, e, f, g, h) \
  "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
// clang-format off
#define TESSERA_SUM_TEXT64 \
  TESSERA_TEXT8(0, 1, 2, 3, 4, 5, 6, 7) ", " \
  TESSERA_TEXT8(8, 9, 10, 11, 12, 13, 14, 15) ", " \
  TESSERA_TEXT8(16, 17, 18, 19, 20, 21, 22, 23) ", " \
  TESSERA_TEXT8(24, 25, 26, 27, 28, 29, 30, 31) ", " \
  TESSERA_TEXT8(32, 33, 34, 35, 36, 37, 38, 39) ", " \
  TESSERA_TEXT8(40, 41, 42, 43, 44, 45, 46, 47) ", " \
  TESSERA_TEXT8(48, 49, 50, 51, 52, 53, 54, 55) ", " \
  TESSERA_TEXT8(56, 57, 58, 59, 60, 61, 62, 63)
#define TESSERA_SUM_TEXT128 \
  TESSERA_SUM_TEXT64 ", " \
  TESSERA_TEXT8(64, 65, 66, 67, 68, 69, 70, 71) ", " \
  TESSERA_TEXT8(72, 73, 74, 75, 76, 77, 78, 79) ", " \
  TESSERA_TEXT8(80, 81, 82, 83, 84, 85, 86, 87) ", " \
  TESSERA_TEXT8(88, 89, 90, 91, 92, 93, 94, 95) ", " \
  TESSERA_TEXT8(96, 97, 98, 99, 100, 101, 102, 103) ", " \
  TESSERA_TEXT8(104, 105, 106, 107, 108, 109, 110, 111) ", " \
  TESSERA_TEXT8(112, 113, 114, 115, 116, 117, 118, 119) ", " \
  TESSERA_TEXT8(120, 121, 122, 123, 124, 125, 126, 127)
// clang-format on
#define TESSERA_SUM8(in, i)                                                                     \
  in(d[i]), in(d[i + 1]), in(d[i + 2]), in(d[i + 3]), in(d[i + 4]), in(d[i + 5]), in(d[i + 6]), \
      in(d[i + 7])
#define TESSERA_SUM64(in)                                                               \
  TESSERA_SUM8(in, 0), TESSERA_SUM8(in, 8), TESSERA_SUM8(in, 16), TESSERA_SUM8(in, 24), \
      TESSERA_SUM8(in, 32), TESSERA_SUM8(in, 40), TESSERA_SUM8(in, 48), TESSERA_SUM8(in, 56)
#define TESSERA_SUM128(in)                                                                      \
  TESSERA_SUM64(in), TESSERA_SUM8(in, 64), TESSERA_SUM8(in, 72), TESSERA_SUM8(in, 80),          \
      TESSERA_SUM8(in, 88), TESSERA_SUM8(in, 96), TESSERA_SUM8(in, 104), TESSERA_SUM8(in, 112), \
      TESSERA_SUM8(in, 120)

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void begin_group() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

#else  // never launched on other devices

__device__ __forceinline__ void begin_group() {}
__device__ __forceinline__ void end_group() {}
template <int left>
__device__ __forceinline__ void wait_for_groups() {}

#endif

/// The layout of an operand in a stage: k along the swizzled rows of one box (k_fast), or across
/// them in boxes of one swizzled row each. `extent`: rows of A (columns of B) per tile.
template <class T, bool k_fast, int extent>
struct Operand {
  static constexpr int row = swizzle_bytes / static_cast<int>(sizeof(T));  // elements
  static constexpr int depth = row;                                        // of a stage along k
  static constexpr int boxes = k_fast ? 1 : extent / row;
  static constexpr int box_rows = k_fast ? extent : depth, box_cols = row;
  static constexpr unsigned box_bytes = box_rows * swizzle_bytes;
  static constexpr int across = k_fast ? 0 : 1;
  static constexpr int steps = swizzle_bytes / 32;  // an instruction consumes 32 bytes of k
  static constexpr unsigned step_bytes = k_fast ? 32 : depth / steps * swizzle_bytes;

  /// Returns the matrix descriptor of an instruction: the address and the strides of boxes and of
  /// groups of eight rows.
  __device__ __forceinline__ static std::uint64_t descriptor(unsigned address) {
    constexpr std::uint64_t between_boxes = (k_fast ? 16 : box_bytes) / 16,
                            between_groups = 8 * swizzle_bytes / 16;
    constexpr std::uint64_t swizzle128 = 1;
    return (address & 0x3FFFF) >> 4 | between_boxes << 16 | between_groups << 32 | swizzle128 << 62;
  }
};

/// Stores the group's 64 x 2 `registers` sums: element e of chunk j of a thread is in row 16 warp +
/// lane / 4 (+ 8), column 8 j + 2 (lane % 4). value(row) returns the function of the sum and its
/// column that returns what alpha multiplies.
template <int registers, class Sum, class Value>
__device__ __forceinline__ void store_sums(const Sum (&sum)[registers], float alpha, float beta,
                                           const MatrixView<float>& c, index_t row0, index_t col0,
                                           const Value& value) {
  const int lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const bool vectors =
      beta == 0 && c.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const index_t row = row0 + 16 * warp + lane / 4 + 8 * half;
    if (row >= c.rows) continue;
    const auto in_row = value(row);
#pragma unroll
    for (int j = 0; j < registers / 4; ++j) {
      const index_t col = col0 + 8 * j + 2 * (lane % 4);
      const Sum* s = sum + 4 * j + 2 * half;
      if (vectors && col + 1 < c.cols) {
        *reinterpret_cast<float2*>(&c(row, col)) =
            float2{alpha * in_row(s[0], col), alpha * in_row(s[1], col + 1)};
      } else {
        if (col < c.cols) store(c(row, col), alpha, in_row(s[0], col), beta);
        if (col + 1 < c.cols) store(c(row, col + 1), alpha, in_row(s[1], col + 1), beta);
      }
    }
  }
}

/// Adds sums that the tensor cores have completed; the compiler must not read them earlier.
template <int registers>
__device__ __forceinline__ void promote(float (&sum)[registers], float (&total)[registers]) {
#pragma unroll
  for (int e = 0; e < registers; ++e) {
    asm volatile("" : "+f"(sum[e])::"memory");
    total[e] += sum[e];
  }
}

/// Multiplies the block's tiles: the consumer, run by each group of warps. store(sums, row0, col0)
/// stores the group's sums, which begin there in C.
template <class Tile, class T, class Store>
__device__ __forceinline__ void multiply_tiles(const MatrixView<T>& c, const Shared<Tile>& shared,
                                               const Shares& shares, const Store& store) {
  using Sum = typename Tile::Multiply::Sum;
  constexpr int registers = Tile::n / 2;
  const int group = static_cast<int>(threadIdx.x) / 128;
  const bool speaks = threadIdx.x % 128 == 0;
  Ring<Tile::stages> ring;
  const int steps = shares.steps;
  for (int tile = static_cast<int>(blockIdx.x); tile < shares.tiles; tile += shares.blocks) {
    const int2 at = origin<Tile>(c, tile);
    Sum sum[registers];
    Sum total[Tile::promotes ? registers : 1] = {};
    const auto give_back = [&](int stage) {
      if (speaks) barrier_arrive(shared.empty + 8 * stage);
    };
    for (int k_step = 0; k_step < steps; ++k_step) {
      barrier_wait(shared.full + 8 * ring.stage, ring.parity);
      const unsigned stage = shared.tiles + ring.stage * Tile::stage_bytes;
      const unsigned a = stage + Tile::group_offset(group), b = stage + Tile::a_bytes;
      begin_group();
#pragma unroll
      for (int step = 0; step < Tile::A::steps; ++step)
        Tile::Multiply::template add<Tile::A::across, Tile::B::across>(
            sum, Tile::A::descriptor(a + step * Tile::A::step_bytes),
            Tile::B::descriptor(b + step * Tile::B::step_bytes),
            (!Tile::promotes && k_step > 0) || step > 0);
      end_group();
      if constexpr (Tile::promotes) {
        wait_for_groups<0>();
        give_back(ring.stage);
        promote(sum, total);
      } else if (k_step > 0) {
        wait_for_groups<1>();
        give_back(ring.before());
      }
      ring.advance();
    }
    if constexpr (Tile::promotes) {
      store(total, at.x + 64 * group, at.y);
    } else {
      wait_for_groups<0>();
      if (steps > 0) give_back(ring.before());
      if (steps == 0) {
#pragma unroll
        for (Sum& s : sum) s = 0;
      }
      store(sum, at.x + 64 * group, at.y);
    }
  }
}

/// Runs a block's roles: one thread copies, the groups of warps multiply.
template <class Tile, class T, class Store>
__device__ __forceinline__ void multiply_by_groups(const unsigned char* raw, const MatrixView<T>& c,
                                                   const CUtensorMap& map_a,
                                                   const CUtensorMap& map_b, const Shares& shares,
                                                   const Store& store) {
  const Shared<Tile> shared(raw);
  shared.begin();
  if (threadIdx.x >= 32 * Tile::warps) {
    give_registers<40>();
    if (threadIdx.x == 32 * Tile::warps) copy_operands<Tile>(c, map_a, map_b, shared, shares);
  } else {
    take_registers<232>();
    multiply_tiles<Tile>(c, shared, shares, store);
  }
}

}  // namespace tessera::inline v1::matmul
