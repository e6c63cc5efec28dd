// Mixed-precision product by mma.sync, for devices from compute capability 8.0 on: operands of 16
// bits (or 32, of which the tensor cores read 19: tf32), sums in f32.

#include "base/element.hpp"
#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_mma.cuh"
#include "kernels/matmul/cuda_tensor.hpp"

namespace tessera::inline v1::matmul {
namespace {

/// Stores the block's tile of C, which begins at (row0, col0).
template <class Kernel>
__device__ __forceinline__ void store_tile(const Kernel& kernel, const MatrixView<float>& c,
                                           float alpha, float beta, index_t row0, index_t col0) {
  const bool vectors =
      beta == 0 && c.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
#pragma unroll
  for (int i = 0; i < 2 * Kernel::tiles_m; ++i) {
    const index_t at_row = row0 + kernel.row + 8 * i;
    if (at_row >= c.rows) continue;
#pragma unroll
    for (int j = 0; j < Kernel::tiles_n; ++j) {
      const index_t at = col0 + kernel.col + 8 * j;
      const float* const s = kernel.sum[i / 2][j] + i % 2 * 2;
      if (vectors && at + 1 < c.cols) {
        *reinterpret_cast<float2*>(&c(at_row, at)) = float2{alpha * s[0], alpha * s[1]};
      } else {
        if (at < c.cols) store(c(at_row, at), alpha, s[0], beta);
        if (at + 1 < c.cols) store(c(at_row, at + 1), alpha, s[1], beta);
      }
    }
  }
}

template <class Kernel, class T>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    multiply_steps(const MixedGemm<T> g, int cuts) {
  if constexpr (kernels::compiled_for < 80) return;        // never launched there
  extern __shared__ __align__(16) unsigned char stages[];  // stages of a, then of b, padded
  T* const shared_a = reinterpret_cast<T*>(stages);
  T* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int2 tile = tile_number(static_cast<int>(blockIdx.x) / cuts,
                                static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  const Cut cut(g.k(), Kernel::k, static_cast<int>(blockIdx.x) % cuts, cuts);
  typename Kernel::CopiesA copies_a(g.a, row0, cut.begin, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, cut.begin, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, cut.length(), shared_a);
  if constexpr (keeps_sums<Kernel, T, float>) {
    if (Kernel::slices > 1 || cuts > 1 || g.c.ld % 2 != 0)
      return store_parts(kernel, stages, cuts, g.c, g.alpha, g.beta, row0, col0);
  }
  store_tile(kernel, g.c, g.alpha, g.beta, row0, col0);
}

template <class Kernel, class T>
void launch(const MixedGemm<T>& g, int cuts, DeviceStream stream) {
  launch_tiles<Kernel>(multiply_steps<Kernel, T>, g, cuts, shared_bytes_of<Kernel, T, float>,
                       stream);
}

template <class T>
bool takes_large(const MixedGemm<T>& g, MmaTile tile) {
  if (tile != MmaTile::best) return tile == MmaTile::large;
  // The small tile needs twice the shared-memory loads per product, close to the available
  // bandwidth.
  constexpr double small_speed = 0.7;
  const int multiprocessors = device_limits().multiprocessors;
  return share_of_device(g.c, LargeTile::m, LargeTile::n, multiprocessors) >=
         small_speed * share_of_device(g.c, SmallTile::m, SmallTile::n, multiprocessors);
}

}  // namespace

template <class T>
bool cuda_mma(const MixedGemm<T>& g, DeviceStream stream, MmaTile tile) {
  if (kernels::device_code().architecture < 80 || !rows_aligned(g.a) || !rows_aligned(g.b))
    return false;
  if (g.c.empty()) return true;
  const bool large = takes_large(g, tile);
  const auto launch_tile = [&](auto op_a, auto op_b) {
    if (large)
      launch<MmaKernel<T, LargeTile, op_a(), op_b(), true>>(g, 1, stream);
    else
      launch<MmaKernel<T, SmallTile, op_a(), op_b(), true>>(g, 1, stream);
  };
  if constexpr (sizeof(T) == 2) {
    dispatch_ops(g, launch_tile);
    return true;
  } else {
    if (g.op_a != Op::none || g.op_b != Op::transpose) return false;
    launch_tile(std::integral_constant<Op, Op::none>{},
                std::integral_constant<Op, Op::transpose>{});
    return true;
  }
}

template <class T>
void cuda_narrow(const MixedGemm<T>& g, DeviceStream stream) {
  if (g.c.empty()) return;
  const auto cost = []<class S>(S, const TileCycles& cycles) {
    return cost_of<MmaKernel<T, S, Op::none, Op::none, true>>(cycles);
  };
  const TileCost costs[] = {cost(SlicedTile{}, {25.5, 15.8, 6400}),
                            cost(TinyTile{}, {12, 10.3, 1500}),
                            cost(ShortTile{}, {54.6, 20.3, 3200}), padded_wgmma_cost(g)};
  const Tiling best = best_tiling(std::span(costs).first(kernels::device_code().wgmma ? 4 : 3),
                                  g.c.rows, g.c.cols, g.k());
  if (best.tile == 3 && cuda_padded_wgmma(g, stream)) return;
  const bool aligned = rows_aligned(g.a) && rows_aligned(g.b);
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    const auto launch_tile = [&]<class S>(S) {
      if (aligned) return launch<MmaKernel<T, S, op_a(), op_b(), true>>(g, best.cuts, stream);
      launch<MmaKernel<T, S, op_a(), op_b(), false>>(g, best.cuts, stream);
    };
    if (best.tile == 0) return launch_tile(SlicedTile{});
    if (best.tile == 1) return launch_tile(TinyTile{});
    launch_tile(ShortTile{});
  });
}

template void cuda_narrow(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template void cuda_narrow(const MixedGemm<__half>&, DeviceStream);
template bool cuda_mma(const MixedGemm<__nv_bfloat16>&, DeviceStream, MmaTile);
template bool cuda_mma(const MixedGemm<__half>&, DeviceStream, MmaTile);
template bool cuda_mma(const MixedGemm<float>&, DeviceStream, MmaTile);

void add_mma_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, class S>(const char* of, Type<T>, S) {
    constexpr Op op_b = sizeof(T) == 2 ? Op::none : Op::transpose;
    using Kernel = MmaKernel<T, S, Op::none, op_b, true>;
    to.push_back(machine::device_function("cuda_tensor", of, multiply_steps<Kernel, T>,
                                          Kernel::threads, shared_bytes_of<Kernel, T, float>));
  };
  add("bf16, mma.sync, large tile", Type<__nv_bfloat16>{}, LargeTile{});
  add("bf16, mma.sync, small tile", Type<__nv_bfloat16>{}, SmallTile{});
  add("bf16, mma.sync, sliced tile", Type<__nv_bfloat16>{}, SlicedTile{});
  add("bf16, mma.sync, tiny tile", Type<__nv_bfloat16>{}, TinyTile{});
  add("bf16, mma.sync, short sums", Type<__nv_bfloat16>{}, ShortTile{});
  add("f16, mma.sync, large tile", Type<__half>{}, LargeTile{});
  add("f16, mma.sync, small tile", Type<__half>{}, SmallTile{});
  add("tf32, mma.sync, large tile", Type<float>{}, LargeTile{});
  add("tf32, mma.sync, small tile", Type<float>{}, SmallTile{});
}

}  // namespace tessera::inline v1::matmul
