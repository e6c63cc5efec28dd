// Register blocking without tensor cores: a thread holds its tile of C and two fragments of each
// operand in registers; operands are in shared memory with k slowest, filled several stages ahead
// by asynchronous copies.
//
// Large tiles multiply fastest, small ones end sooner; sliced and tiny ones are for products of few
// tiles, which are also cut along k (cuda_cuts.cuh, tiling.hpp).
//
// On an H200, f32, ratios to cuBLAS, interleaved: 2048 0.97, 4096 0.99, 8192 1.01, 16384 0.98 with
// the large tile, whose 8 x 16 elements per thread keep the loads below three quarters of the
// shared-memory bandwidth (8 x 8 needs all of it); 1024 1.08 to 1.17 and 65536 x 128 x 128 1.02
// with the small tile.

#include "base/element.hpp"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_cuts.cuh"
#include "kernels/matmul/tiling.hpp"

namespace tessera::inline v1::matmul {
namespace {

/// Tile shapes. cut: whether k may be cut; code for it in the kernel of the large tile cost 4 to 7
/// % there, by other registers in the main loop. stores: elements of C per store instruction, where
/// alignment permits. With vector stores the compiler allocates other registers in the main loop of
/// the large tile, which is then 5 to 7 % slower in any order of the multiply-adds.
struct LargeF32 {
  static constexpr int m = 128, n = 256, k = 16, stages = 6, tm = 8, tn = 16, lanes_m = 4,
                       blocks = 1, stores = 1, slices = 1;
  static constexpr bool cut = false;
};
struct SmallF32 {
  static constexpr int m = 64, n = 64, k = 16, stages = 4, tm = 8, tn = 8, lanes_m = 4, blocks = 6,
                       stores = 4, slices = 1;
  static constexpr bool cut = true;
};
/// For few tiles: more warps share a tile's k.
struct SlicedF32 {
  static constexpr int m = 64, n = 64, k = 32, stages = 3, tm = 8, tn = 8, lanes_m = 4, blocks = 2,
                       slices = 4;
  static constexpr bool cut = true;
};
struct TinyF32 {
  static constexpr int m = 32, n = 32, k = 32, stages = 5, tm = 4, tn = 8, lanes_m = 8, blocks = 3,
                       slices = 8;
  static constexpr bool cut = true;
};
struct LargeF64 {
  static constexpr int m = 128, n = 64, k = 16, stages = 4, tm = 8, tn = 4, lanes_m = 4, blocks = 1,
                       stores = 1, slices = 1;
  static constexpr bool cut = false;
};
struct SmallF64 {  // for devices with less shared memory than the large one needs, 98 KiB
  static constexpr int m = 64, n = 64, k = 16, stages = 3, tm = 8, tn = 4, lanes_m = 4, blocks = 1,
                       stores = 1, slices = 1;
  static constexpr bool cut = false;
};

template <class T, class S, Op op_a, Op op_b, int vector>
struct RegisterKernel : S {
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T));  // elements per vector
  static constexpr int slice_threads = S::m / S::tm * (S::n / S::tn);
  static constexpr int threads = slice_threads * S::slices;
  static constexpr int steps = S::k / S::slices;
  static constexpr int a_pitch = S::m + lanes, b_pitch = S::n + (op_b == Op::transpose ? lanes : 0);
  static constexpr int a_elements = S::k * a_pitch, b_elements = S::k * b_pitch;
  using ShapeA = std::conditional_t<op_a == Op::none, TileShape<S::m, S::k, 1, a_pitch, true>,
                                    TileShape<S::k, S::m, a_pitch, 1, false>>;
  using ShapeB = std::conditional_t<op_b == Op::transpose, TileShape<S::n, S::k, 1, b_pitch, true>,
                                    TileShape<S::k, S::n, b_pitch, 1, false>>;
  using CopiesA = TileCopies<T, ShapeA, threads, op_a == Op::none ? 1 : vector>;
  using CopiesB = TileCopies<T, ShapeB, threads, op_b == Op::transpose ? 1 : vector>;

  // A warp is lanes_m x lanes_n threads; the rows and columns of a thread are vectors, contiguous
  // across the warp.
  static constexpr int lanes_n = 32 / S::lanes_m;
  static constexpr int warps_m = S::m / (S::lanes_m * S::tm);
  const T *a, *b;  // shared addresses of this thread's fragments
  int row, col;    // position of this thread's first element in the tile
  T x[2][S::tm], y[2][S::tn];
  T sum[S::tm][S::tn] = {};

  __device__ RegisterKernel(const T* shared_a, const T* shared_b) {
    const int warp = static_cast<int>(threadIdx.x) % slice_threads / 32,
              lane = static_cast<int>(threadIdx.x) % 32;
    row = warp % warps_m * S::lanes_m * S::tm + lane % S::lanes_m * lanes;
    col = warp / warps_m * lanes_n * S::tn + lane / S::lanes_m * lanes;
    a = shared_a + row + slice() * steps * a_pitch;
    b = shared_b + col + slice() * steps * b_pitch;
  }
  /// Returns the slice of k, of every stage, that this thread multiplies.
  __device__ static int slice() { return static_cast<int>(threadIdx.x) / slice_threads; }
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
#pragma unroll
    for (int i = 0; i < S::tm; ++i) {
#pragma unroll
      for (int j = 0; j < S::tn; ++j) f(row + row_of(i), col + col_of(j), sum[i][j]);
    }
  }
  __device__ static int row_of(int i) { return i / lanes * S::lanes_m * lanes + i % lanes; }
  __device__ static int col_of(int j) { return j / lanes * lanes_n * lanes + j % lanes; }

  struct alignas(16) Vector {
    T at[lanes];
  };
  template <int count>
  __device__ __forceinline__ static void fragment(const T* from, int stride, T (&to)[count]) {
#pragma unroll
    for (int group = 0; group < count / lanes; ++group) {
      const auto v = *reinterpret_cast<const Vector*>(from + group * stride);
#pragma unroll
      for (int e = 0; e < lanes; ++e) to[group * lanes + e] = v.at[e];
    }
  }
  __device__ __forceinline__ void fetch(int buffer, int stage, int step) {
    fragment(a + (stage * S::k + step) * a_pitch, S::lanes_m * lanes, x[buffer]);
    fragment(b + (stage * S::k + step) * b_pitch, lanes_n * lanes, y[buffer]);
  }
  /// Adds the outer product of the fragments in boustrophedon order of sums, with the middle two of
  /// every four columns swapped. A multiply-add reads three registers from two banks at no cost if
  /// one of them is reused from the previous instruction. In this order the compiler leaves 166 of
  /// 2048 multiply-adds with a bank conflict (large tile); boustrophedon order alone leaves 180
  /// (and costs 1.2 % of time), left to right more than 400.
  __device__ __forceinline__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < S::tm; ++i) {
#pragma unroll
      for (int along = 0; along < S::tn; ++along) {
        const int in_order = i % 2 == 0 ? along : S::tn - 1 - along;
        constexpr int swapped[4] = {0, 2, 1, 3};
        const int j = in_order / 4 * 4 + swapped[in_order % 4];
        sum[i][j] = fma(x[buffer][i], y[buffer][j], sum[i][j]);
      }
    }
  }
};

/// Stores the thread's elements of the tile that begins at (row0, col0).
template <class Kernel, class T>
__device__ __forceinline__ void store_sums(const Gemm<T>& g, const Kernel& kernel, index_t row0,
                                           index_t col0) {
  constexpr int count = Kernel::stores;
  const bool vectors = count > 1 && row0 + Kernel::m <= g.c.rows && col0 + Kernel::n <= g.c.cols &&
                       g.c.ld % count == 0 &&
                       reinterpret_cast<std::uintptr_t>(g.c.data) % (count * sizeof(T)) == 0;
#pragma unroll
  for (int i = 0; i < Kernel::tm; ++i) {
    const index_t row = row0 + kernel.row + Kernel::row_of(i);
#pragma unroll
    for (int j = 0; j < Kernel::tn; j += count) {
      const index_t col = col0 + kernel.col + Kernel::col_of(j);
      if (count > 1 && vectors) {
        using Vector = typename Kernel::Vector;
        auto* const to = reinterpret_cast<Vector*>(&g.c(row, col));
        Vector v = g.beta == T{0} ? Vector{} : *to;
#pragma unroll
        for (int e = 0; e < count; ++e) store(v.at[e], g.alpha, kernel.sum[i][j + e], g.beta);
        *to = v;
        continue;
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (row < g.c.rows && col + e < g.c.cols)
          store(g.c(row, col + e), g.alpha, kernel.sum[i][j + e], g.beta);
      }
    }
  }
}

template <class Kernel, class T>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    register_tiled(Gemm<T> g, int all_cuts) {
  extern __shared__ __align__(
      16) unsigned char shared[];  // stages of a (k, m), then of b (k, n), padded
  T* const shared_a = reinterpret_cast<T*>(shared);
  T* const shared_b = shared_a + Kernel::stages * Kernel::a_elements;
  const int cuts = Kernel::cut ? all_cuts : 1;
  const int2 tile = tile_number(static_cast<int>(blockIdx.x) / cuts,
                                static_cast<int>((g.c.rows + Kernel::m - 1) / Kernel::m),
                                static_cast<int>((g.c.cols + Kernel::n - 1) / Kernel::n));
  const index_t row0 = static_cast<index_t>(tile.x) * Kernel::m,
                col0 = static_cast<index_t>(tile.y) * Kernel::n;
  const index_t k = g.op_a == Op::none ? g.a.cols : g.a.rows;
  const Cut part =
      Kernel::cut ? Cut(k, Kernel::k, static_cast<int>(blockIdx.x) % cuts, cuts) : Cut{0, k};
  typename Kernel::CopiesA copies_a(g.a, row0, part.begin, shared_a);
  typename Kernel::CopiesB copies_b(g.b, col0, part.begin, shared_b);
  Kernel kernel(shared_a, shared_b);
  multiply_block(kernel, copies_a, copies_b, part.length(), shared_a);
  if constexpr (Kernel::cut) {
    static_assert(keeps_sums<Kernel, T>);
    if (Kernel::slices > 1 || cuts > 1 || g.c.ld % 4 != 0)
      return store_parts(kernel, shared, cuts, g.c, g.alpha, g.beta, row0, col0);
  }
  if constexpr (Kernel::slices == 1) store_sums(g, kernel, row0, col0);
}

template <class S, class T>
void launch(const Gemm<T>& g, int cuts, DeviceStream stream) {
  dispatch_pipeline(g, [&](auto op_a, auto op_b, auto vector) {
    using Kernel = RegisterKernel<T, S, op_a(), op_b(), vector()>;
    launch_tiles<Kernel>(register_tiled<Kernel, T>, g, cuts, shared_bytes_of<Kernel, T>, stream);
  });
}

/// Returns whether the device has the shared memory of the tile, for all ops.
template <class S, class T>
bool fits() {
  using Kernel = RegisterKernel<T, S, Op::transpose, Op::transpose, 1>;
  return kernels::shared_bytes_per_block() >= shared_bytes_of<Kernel, T>;
}

void launch_best(const Gemm<double>& g, DeviceStream stream) {
  if (fits<LargeF64, double>()) return launch<LargeF64>(g, 1, stream);
  launch<SmallF64>(g, 1, stream);
}
void launch_best(const Gemm<float>& g, DeviceStream stream) {
  const bool aligned = rows_aligned(g.a) && rows_aligned(g.b);
  const TileCost costs[] = {
      if_fits(fits<LargeF32, float>(), cost_of<LargeF32>(aligned ? TileCycles{290, 290, 11800}
                                                                 : TileCycles{388, 388, 11800})),
      cost_of<SmallF32>({102, aligned ? 39.0 : 48.0, 5200}),
      if_fits(fits<SlicedF32, float>(), cost_of<SlicedF32>({60, 60, 3500})),
      cost_of<TinyF32>({17, 15.5, 4900})};
  const Tiling best = best_tiling(costs, g.m(), g.n(), g.k());
  switch (best.tile) {
    case 0:
      return launch<LargeF32>(g, best.cuts, stream);
    case 1:
      return launch<SmallF32>(g, best.cuts, stream);
    case 2:
      return launch<SlicedF32>(g, best.cuts, stream);
    default:
      return launch<TinyF32>(g, best.cuts, stream);
  }
}

}  // namespace

template <class T>
void cuda_register(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  if (g.c.empty()) return;
  launch_best(g, stream);
}

template void cuda_register(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_register(const Gemm<double>&, const Tuning&, DeviceStream);

void add_register_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, class S>(const char* of, Type<T>, S) {
    using Kernel = RegisterKernel<T, S, Op::none, Op::none, 16 / static_cast<int>(sizeof(T))>;
    to.push_back(function_of<Kernel>("cuda_register", of, register_tiled<Kernel, T>));
  };
  add("f32, large tile", Type<float>{}, LargeF32{});
  add("f32, small tile", Type<float>{}, SmallF32{});
  add("f32, sliced tile", Type<float>{}, SlicedF32{});
  add("f32, tiny tile", Type<float>{}, TinyF32{});
  add("f64, large tile", Type<double>{}, LargeF64{});
  add("f64, small tile", Type<double>{}, SmallF64{});
}

}  // namespace tessera::inline v1::matmul
