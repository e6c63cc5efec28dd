// Products of quantised operands by wgmma, with k along the rows of both, which the instructions of
// 8 bits require. Sums of fp8 keep some 14 bits in the tensor cores of compute capability 9.0
// (DeepSeek-V3, 2024): those of 128 products are added to sums in f32.

#include <limits>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_quantised.cuh"
#include "kernels/matmul/cuda_wgmma.cuh"

namespace tessera::inline v1::matmul {
namespace {

template <class T>
struct Instruction;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <>
struct Instruction<std::int8_t> {
  using Sum = int;
  template <int, int>
  __device__ __forceinline__ static void add(int (&d)[128], std::uint64_t a, std::uint64_t b,
                                             int keep) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; "
        "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 "
        "{" TESSERA_SUM_TEXT128 "}, %128, %129, p; }"
        : TESSERA_SUM128("+r")
        : "l"(a), "l"(b), "r"(keep));
  }
};
template <>
struct Instruction<__nv_fp8_e4m3> {
  using Sum = float;
  template <int, int>
  __device__ __forceinline__ static void add(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                             int keep) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %66, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 "
        "{" TESSERA_SUM_TEXT64 "}, %64, %65, p, 1, 1; }"
        : TESSERA_SUM64("+f")
        : "l"(a), "l"(b), "r"(keep));
  }
};

#else  // never launched on other devices

template <class T>
struct Instruction {
  using Sum = std::conditional_t<std::is_same_v<T, std::int8_t>, int, float>;
  template <int, int, int registers>
  __device__ __forceinline__ static void add(Sum (&)[registers], std::uint64_t, std::uint64_t,
                                             int) {}
};

#endif

/// Two groups of warps, 64 rows each. fp8 has half the columns: its sums take twice the registers.
template <class T>
struct Tile {
  static constexpr bool promotes = std::is_same_v<T, __nv_fp8_e4m3>;
  static constexpr int m = 128, n = promotes ? 128 : 256, stages = promotes ? 6 : 4, groups = 2;
  using Multiply = Instruction<T>;
  using A = Operand<T, true, m>;
  using B = Operand<T, true, n>;
  static constexpr int depth = A::depth, warps = 4 * groups, threads = 32 * (warps + 4),
                       arrivals = groups;
  static constexpr unsigned a_bytes = m * swizzle_bytes, stage_bytes = (m + n) * swizzle_bytes;
  static constexpr unsigned shared_bytes = ring_bytes<stages>(stage_bytes);
  __device__ __forceinline__ static unsigned group_offset(int group) {
    return group * 64 * swizzle_bytes;
  }
};

template <class T>
__global__ void __launch_bounds__(Tile<T>::threads, 1)
    multiply_bytes(const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, const QuantisedGemm<T> g,
                   const Shares shares) {
  if constexpr (!kernels::compiled_for_90a) return;  // never launched there
  extern __shared__ unsigned char raw[];
  multiply_by_groups<Tile<T>>(
      raw, g.c, map_a, map_b, shares, [&](const auto& sum, index_t row0, index_t col0) {
        store_sums(sum, g.alpha, g.beta, g.c, row0, col0, [&](index_t row) {
          const float unit = __ldg(g.a_units + row);
          return
              [unit, &g](auto s, index_t col) { return in_units(s, unit, __ldg(g.b_units + col)); };
        });
      });
}

MatrixView<const std::uint8_t> bytes_of(const auto& x) {
  return {reinterpret_cast<const std::uint8_t*>(x.data), x.rows, x.cols, x.ld};
}

}  // namespace

template <class T>
bool cuda_quantised_wgmma(const QuantisedGemm<T>& g, DeviceStream stream) {
  if (!kernels::device_code().wgmma || !fits_tensor_map(g.a) || !fits_tensor_map(g.b)) return false;
  const Shares shares = ring_shares<Tile<T>>(g.c, g.k(), 1, device_limits(), false);
  const auto map = [](const MatrixView<const T>& x, int rows) {
    return tensor_map(bytes_of(x), rows, swizzle_bytes);
  };
  launch_ring<Tile<T>>(multiply_bytes<T>, shares, stream, map(g.a, Tile<T>::m),
                       map(g.b, Tile<T>::n), g, shares);
  return true;
}

template bool cuda_quantised_wgmma(const QuantisedGemm<std::int8_t>&, DeviceStream);
template bool cuda_quantised_wgmma(const QuantisedGemm<__nv_fp8_e4m3>&, DeviceStream);

void add_quantised_wgmma_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const char* of, T) {
    to.push_back({"cuda_tensor", of, reinterpret_cast<const void*>(multiply_bytes<T>),
                  Tile<T>::threads, Tile<T>::shared_bytes});
  };
  add("int8", std::int8_t{});
  add("fp8", __nv_fp8_e4m3{});
}

}  // namespace tessera::inline v1::matmul
