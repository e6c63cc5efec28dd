// Mixed-precision product by wgmma on the tensor cores of compute capability 9.0: operands of 16
// bits (or 32, of which the tensor cores read 19: tf32), sums in f32. Groups of four warps multiply
// directly from shared memory, where one thread copies boxes of the operands into a ring of stages.

#include <limits>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_ring.cuh"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::inline v1::matmul {
namespace {

// The registers of a 64 x 256 sum, as operands of one instruction.
#define TESSERA_TEXT8(a, b, c, d, e, f, g, h) \
  "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
// clang-format off
#define TESSERA_SUM_TEXT \
  TESSERA_TEXT8(0, 1, 2, 3, 4, 5, 6, 7) ", " \
  TESSERA_TEXT8(8, 9, 10, 11, 12, 13, 14, 15) ", " \
  TESSERA_TEXT8(16, 17, 18, 19, 20, 21, 22, 23) ", " \
  TESSERA_TEXT8(24, 25, 26, 27, 28, 29, 30, 31) ", " \
  TESSERA_TEXT8(32, 33, 34, 35, 36, 37, 38, 39) ", " \
  TESSERA_TEXT8(40, 41, 42, 43, 44, 45, 46, 47) ", " \
  TESSERA_TEXT8(48, 49, 50, 51, 52, 53, 54, 55) ", " \
  TESSERA_TEXT8(56, 57, 58, 59, 60, 61, 62, 63) ", " \
  TESSERA_TEXT8(64, 65, 66, 67, 68, 69, 70, 71) ", " \
  TESSERA_TEXT8(72, 73, 74, 75, 76, 77, 78, 79) ", " \
  TESSERA_TEXT8(80, 81, 82, 83, 84, 85, 86, 87) ", " \
  TESSERA_TEXT8(88, 89, 90, 91, 92, 93, 94, 95) ", " \
  TESSERA_TEXT8(96, 97, 98, 99, 100, 101, 102, 103) ", " \
  TESSERA_TEXT8(104, 105, 106, 107, 108, 109, 110, 111) ", " \
  TESSERA_TEXT8(112, 113, 114, 115, 116, 117, 118, 119) ", " \
  TESSERA_TEXT8(120, 121, 122, 123, 124, 125, 126, 127)
// clang-format on
#define TESSERA_SUM8(i)                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define TESSERA_SUM32(i) \
  TESSERA_SUM8(i), TESSERA_SUM8(i + 8), TESSERA_SUM8(i + 16), TESSERA_SUM8(i + 24)
#define TESSERA_SUM TESSERA_SUM32(0), TESSERA_SUM32(32), TESSERA_SUM32(64), TESSERA_SUM32(96)

template <class T>
struct Multiply;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TESSERA_MULTIPLY16(type, name)                                                            \
  template <>                                                                                     \
  struct Multiply<type> {                                                                         \
    template <int a_across, int b_across>                                                         \
    __device__ __forceinline__ static void add(float (&d)[128], std::uint64_t a, std::uint64_t b, \
                                               int keep) {                                        \
      asm volatile(                                                                               \
          "{ .reg .pred p; setp.ne.b32 p, %130, 0; "                                              \
          "wgmma.mma_async.sync.aligned.m64n256k16.f32." name "." name " {" TESSERA_SUM_TEXT      \
          "}, %128, %129, p, 1, 1, %131, %132; }"                                                 \
          : TESSERA_SUM                                                                           \
          : "l"(a), "l"(b), "r"(keep), "n"(a_across), "n"(b_across));                             \
    }                                                                                             \
  }
TESSERA_MULTIPLY16(__nv_bfloat16, "bf16");
TESSERA_MULTIPLY16(__half, "f16");
#undef TESSERA_MULTIPLY16

template <>
struct Multiply<float> {
  template <int, int>
  __device__ __forceinline__ static void add(float (&d)[128], std::uint64_t a, std::uint64_t b,
                                             int keep) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
        "{" TESSERA_SUM_TEXT "}, %128, %129, p, 1, 1; }"
        : TESSERA_SUM
        : "l"(a), "l"(b), "r"(keep));
  }
};
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

template <class T>
struct Multiply {
  template <int, int>
  __device__ __forceinline__ static void add(float (&)[128], std::uint64_t, std::uint64_t, int) {}
};
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

template <class T, Op op_a, Op op_b>
struct Tile {
  static constexpr int m = 128, n = 256, stages = 4,
                       groups = 2;  // two groups of warps, 64 rows each
  using A = Operand<T, op_a == Op::none, m>;
  using B = Operand<T, op_b == Op::transpose, n>;
  static constexpr int depth = A::depth, warps = 4 * groups, threads = 32 * (warps + 4),
                       arrivals = groups;
  static constexpr unsigned a_bytes = m * swizzle_bytes, stage_bytes = (m + n) * swizzle_bytes;
  static constexpr unsigned shared_bytes = ring_bytes<stages>(stage_bytes);
  /// Returns the offset in the stage at which the rows of a group begin.
  __device__ __forceinline__ static unsigned group_offset(int group) {
    return op_a == Op::none ? group * 64 * swizzle_bytes : group * (64 / A::row) * A::box_bytes;
  }
};

/// Stores the group's 64 x 256 sums: element e of chunk j of a thread is in row 16 warp + lane / 4
/// (+ 8), column 8 j + 2 (lane % 4).
__device__ __forceinline__ void store_sums(const float (&sum)[128], float alpha, float beta,
                                           const MatrixView<float>& c, index_t row0, index_t col0) {
  const int lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const bool vectors =
      beta == 0 && c.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const index_t row = row0 + 16 * warp + lane / 4 + 8 * half;
    if (row >= c.rows) continue;
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      const index_t col = col0 + 8 * j + 2 * (lane % 4);
      const float* s = sum + 4 * j + 2 * half;
      if (vectors && col + 1 < c.cols) {
        *reinterpret_cast<float2*>(&c(row, col)) = float2{alpha * s[0], alpha * s[1]};
      } else {
        if (col < c.cols) store(c(row, col), alpha, s[0], beta);
        if (col + 1 < c.cols) store(c(row, col + 1), alpha, s[1], beta);
      }
    }
  }
}

template <class Tile, class T>
__device__ __forceinline__ void multiply_tiles(const MixedGemm<T>& g, const Shared<Tile>& shared,
                                               const Shares& shares) {
  const int group = static_cast<int>(threadIdx.x) / 128;
  const bool speaks = threadIdx.x % 128 == 0;
  Ring<Tile::stages> ring;
  const int steps = shares.steps;
  for (int tile = static_cast<int>(blockIdx.x); tile < shares.tiles; tile += shares.blocks) {
    const int2 at = origin<Tile>(g.c, tile);
    float sum[128];
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
        Multiply<T>::template add<Tile::A::across, Tile::B::across>(
            sum, Tile::A::descriptor(a + step * Tile::A::step_bytes),
            Tile::B::descriptor(b + step * Tile::B::step_bytes), k_step > 0 || step > 0);
      end_group();
      if (k_step > 0) {
        wait_for_groups<1>();
        give_back(ring.before());
      }
      ring.advance();
    }
    wait_for_groups<0>();
    if (steps > 0) give_back(ring.before());
    if (steps == 0) {
#pragma unroll
      for (float& s : sum) s = 0;
    }
    store_sums(sum, g.alpha, g.beta, g.c, at.x + 64 * group, at.y);
  }
}

template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, 1)
    multiply_groups(const __grid_constant__ CUtensorMap map_a,
                    const __grid_constant__ CUtensorMap map_b, const MixedGemm<T> g,
                    const Shares shares) {
  if constexpr (!kernels::compiled_for_90a) return;  // never launched there
  extern __shared__ unsigned char raw[];
  const Shared<Tile> shared(raw);
  shared.begin();
  if (threadIdx.x >= 32 * Tile::warps) {
    give_registers<40>();
    if (threadIdx.x == 32 * Tile::warps) copy_operands<Tile>(g.c, map_a, map_b, shared, shares);
  } else {
    take_registers<232>();
    multiply_tiles<Tile>(g, shared, shares);
  }
}

}  // namespace

template <class T>
bool cuda_wgmma(const MixedGemm<T>& g, DeviceStream stream) {
  const DeviceLimits limits = device_limits();
  if (!kernels::device_code().wgmma || !fits_tensor_map(g.a) || !fits_tensor_map(g.b) ||
      g.k() > std::numeric_limits<int>::max() / 2)
    return false;
  bool launched = false;
  constexpr auto tf32 = machine::cuda::Rounding::tf32;
  const auto launch = [&](auto op_a, auto op_b) {
    using Plan = Tile<T, op_a(), op_b()>;
    const Shares shares = ring_shares<Plan>(g.c, g.k(), 1, limits, false);
    launch_ring<Plan>(multiply_groups<Plan, T>, shares, stream,
                      tensor_map(g.a, Plan::A::box_rows, Plan::A::box_cols, tf32),
                      tensor_map(g.b, Plan::B::box_rows, Plan::B::box_cols, tf32), g, shares);
    launched = true;
  };
  if constexpr (sizeof(T) == 2) {
    dispatch_ops(g, launch);
  } else if (g.op_a == Op::none && g.op_b == Op::transpose) {  // the units read tf32 along k only
    launch(std::integral_constant<Op, Op::none>{}, std::integral_constant<Op, Op::transpose>{});
  }
  return launched;
}

template bool cuda_wgmma(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template bool cuda_wgmma(const MixedGemm<__half>&, DeviceStream);
template bool cuda_wgmma(const MixedGemm<float>&, DeviceStream);

void add_wgmma_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, class Plan>(const char* of, T, Plan) {
    to.push_back({"cuda_tensor", of, reinterpret_cast<const void*>(multiply_groups<Plan, T>),
                  Plan::threads, Plan::shared_bytes});
  };
  add("bf16", __nv_bfloat16{}, Tile<__nv_bfloat16, Op::none, Op::none>{});
  add("f16", __half{}, Tile<__half, Op::none, Op::none>{});
  add("tf32", float{}, Tile<float, Op::none, Op::transpose>{});
}

}  // namespace tessera::inline v1::matmul
