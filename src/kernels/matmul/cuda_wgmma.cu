// Mixed-precision product by wgmma on the tensor cores of compute capability 9.0: operands of 16
// bits (or 32, of which the tensor cores read 19: tf32), sums in f32.

#include <limits>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_tensor.hpp"
#include "kernels/matmul/cuda_wgmma.cuh"

namespace tessera::inline v1::matmul {
namespace {

template <class T>
struct Instruction;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define TESSERA_MULTIPLY16(type, name)                                                            \
  template <>                                                                                     \
  struct Instruction<type> {                                                                      \
    using Sum = float;                                                                            \
    template <int a_across, int b_across>                                                         \
    __device__ __forceinline__ static void add(float (&d)[128], std::uint64_t a, std::uint64_t b, \
                                               int keep) {                                        \
      asm volatile(                                                                               \
          "{ .reg .pred p; setp.ne.b32 p, %130, 0; "                                              \
          "wgmma.mma_async.sync.aligned.m64n256k16.f32." name "." name " {" TESSERA_SUM_TEXT128   \
          "}, %128, %129, p, 1, 1, %131, %132; }"                                                 \
          : TESSERA_SUM128("+f")                                                                  \
          : "l"(a), "l"(b), "r"(keep), "n"(a_across), "n"(b_across));                             \
    }                                                                                             \
  }
TESSERA_MULTIPLY16(__nv_bfloat16, "bf16");
TESSERA_MULTIPLY16(__half, "f16");
#undef TESSERA_MULTIPLY16

template <>
struct Instruction<float> {
  using Sum = float;
  template <int, int>
  __device__ __forceinline__ static void add(float (&d)[128], std::uint64_t a, std::uint64_t b,
                                             int keep) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
        "{" TESSERA_SUM_TEXT128 "}, %128, %129, p, 1, 1; }"
        : TESSERA_SUM128("+f")
        : "l"(a), "l"(b), "r"(keep));
  }
};

#else  // never launched on other devices

template <class T>
struct Instruction {
  using Sum = float;
  template <int, int>
  __device__ __forceinline__ static void add(float (&)[128], std::uint64_t, std::uint64_t, int) {}
};

#endif

template <class T, Op op_a, Op op_b>
struct Tile {
  static constexpr int m = 128, n = 256, stages = 4,
                       groups = 2;  // two groups of warps, 64 rows each
  static constexpr bool promotes = false;
  using Multiply = Instruction<T>;
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

template <class Tile, class T>
__global__ void __launch_bounds__(Tile::threads, 1)
    multiply_groups(const __grid_constant__ CUtensorMap map_a,
                    const __grid_constant__ CUtensorMap map_b, const MixedGemm<T> g,
                    const Shares shares) {
  if constexpr (!kernels::compiled_for_90a) return;  // never launched there
  extern __shared__ unsigned char raw[];
  multiply_by_groups<Tile>(raw, g.c, map_a, map_b, shares,
                           [&](const auto& sum, index_t row0, index_t col0) {
                             store_sums(sum, g.alpha, g.beta, g.c, row0, col0,
                                        [](index_t) { return [](float s, index_t) { return s; }; });
                           });
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
