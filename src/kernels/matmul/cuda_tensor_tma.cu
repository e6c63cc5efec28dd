// Tensor cores in double precision from compute capability 9.0 on: one warp copies boxes of the
// operands into a ring of stages in shared memory, the others multiply them (mma.sync of 16 x 8 x
// 8). Persistent blocks walk over the tiles of C, so the first boxes of the next tile are copied
// while the last tile is stored.
//
// On an H200, f64, ratios to cuBLAS, interleaved: n = 1024 1.11, 2048 1.04, 4096 1.01, 8192 0.97,
// 16384 1.02. The factors of the next half stage are loaded during the products of the current one
// (otherwise 4096 0.97, 8192 0.96). Loads of 16 bytes, two elements each, were slower by a tenth:
// they deliver factors in other registers than the instruction requires. Clusters of two blocks
// that share boxes of B by multicast were slower by a fifth.

#include <limits>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_ring.cuh"
#include "kernels/matmul/cuda_tensor.hpp"
#include "kernels/matmul/tiling.hpp"

namespace tessera::inline v1::matmul {
namespace {

/// Computes sum (16 x 8) += x (16 x 8) y (8 x 8), distributed over the warp as the instruction
/// requires: thread 4 g + t holds rows g and g + 8 of x at k = t, then at k = t + 4; column g of y
/// at k = t and t + 4; columns 2 t and 2 t + 1 of both rows of the sum.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void mma(double (&sum)[4], const double (&x)[4], const double (&y)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y[0]), "d"(y[1]));
}
#else
__device__ __forceinline__ void mma(double (&)[4], const double (&)[4], const double (&)[2]) {}
#endif

__device__ __forceinline__ double load_shared(unsigned address) {
  double value;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(address));
  return value;
}

constexpr int stage_depth = swizzle_bytes / 8;  // depth along k, in doubles

/// One thread's view of an operand's boxes. The element for each (g, t) is chosen so that the 16
/// lanes of half a warp read 16 different chunk halves, hence all banks once, without conflicts.
/// `extent`: rows of A (columns of B) per tile.
template <bool k_fast, int extent>
class Operand;

/// One box of (extent, depth). Within eight rows, g is row (0 2 4 6 1 3 5 7)[g].
template <int extent>
class Operand<true, extent> {
 public:
  static constexpr int boxes = 1, box_rows = extent, box_cols = stage_depth;
  __device__ static int index(int g, int block) { return 8 * block + (((2 * g) & 7) | (g >> 2)); }
  __device__ Operand(int first, int g, int t) {
    const int row = index(g, 0);
    offset_ = (first + row) * swizzle_bytes + (((t >> 1) ^ row) << 4) + (t & 1) * 8;
  }
  /// Returns the element of (g, t) in block `block` of eight rows at k = 4 part + t.
  __device__ __forceinline__ double get(unsigned tile, int block, int part) const {
    return load_shared(((tile + offset_) ^ (part * 32)) + block * 8 * swizzle_bytes);
  }

 private:
  unsigned offset_;
};

/// Boxes of (depth, 16). Within sixteen columns, g is column (0 1 8 9 2 3 10 11)[g] in even blocks
/// of eight and that plus 4 in odd blocks.
template <int extent>
class Operand<false, extent> {
 public:
  static constexpr int boxes = extent / 16, box_rows = stage_depth, box_cols = 16;
  __device__ static int index(int g, int block) {
    return block / 2 * 16 + block % 2 * 4 + 2 * chunk(g) + g % 2;
  }
  __device__ Operand(int first, int g, int t)
      : offset_(first / 16 * stage_depth * swizzle_bytes + t * swizzle_bytes +
                ((chunk(g) ^ t) << 4) + g % 2 * 8) {}
  __device__ __forceinline__ double get(unsigned tile, int block, int part) const {
    return load_shared(((tile + offset_) ^ (part % 2 * 64 + block % 2 * 32)) +
                       part * 4 * swizzle_bytes + block / 2 * stage_depth * swizzle_bytes);
  }

 private:
  __device__ static int chunk(int g) { return ((g >> 1) & 1) * 4 + (g >> 2); }
  unsigned offset_;
};

/// The tile of C of a block, (m, n), divided into warp tiles (warp_m, warp_n).
template <bool a_k_fast, bool b_k_fast, int m_, int n_, int warp_m_, int warp_n_, int stages_,
          int blocks_>
struct Tile {
  static constexpr int m = m_, n = n_, warp_m = warp_m_, warp_n = warp_n_, stages = stages_,
                       blocks = blocks_;
  static constexpr int warps = m / warp_m * (n / warp_n);
  static constexpr int depth = stage_depth, arrivals = warps;
  static constexpr bool regroups = warps == 8;  // registers move between groups of four warps
  static constexpr int threads = 32 * (warps + (regroups ? 4 : 1));
  using A = Operand<a_k_fast, m>;
  using B = Operand<b_k_fast, n>;
  static constexpr bool pairs = !b_k_fast;  // a thread's two columns are adjacent
  static constexpr unsigned a_bytes = m * swizzle_bytes, stage_bytes = (m + n) * swizzle_bytes;
  static constexpr unsigned shared_bytes = ring_bytes<stages>(stage_bytes);
};

/// A thread's factors for eight steps along k, half a stage, in shared memory.
template <class T>
struct Source {
  const typename T::A& a;
  const typename T::B& b;
  unsigned stage;
  int half;

  __device__ __forceinline__ void load_x(double (&x)[4], int i) const {
#pragma unroll
    for (int e = 0; e < 4; ++e) x[e] = a.get(stage, 2 * i + e % 2, 2 * half + e / 2);
  }
  template <int tiles_n>
  __device__ __forceinline__ void load_y(double (&y)[tiles_n][2]) const {
#pragma unroll
    for (int j = 0; j < tiles_n; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) y[j][e] = b.get(stage + T::a_bytes, j, 2 * half + e);
    }
  }
};

/// The factors of a warp's next products, in registers.
template <class T>
struct Factors {
  double x[T::warp_m / 16][4], y[T::warp_n / 8][2];
  __device__ __forceinline__ explicit Factors(const Source<T>& source) {
    source.load_y(y);
#pragma unroll
    for (int i = 0; i < T::warp_m / 16; ++i) source.load_x(x[i], i);
  }
};

template <class T>
struct Sums {
  static constexpr int tiles_m = T::warp_m / 16, tiles_n = T::warp_n / 8;
  double at[tiles_m][tiles_n][4] = {};

  /// Adds x y and concurrently, after present() has made `next` available, loads x and y from it.
  template <class Present>
  __device__ __forceinline__ void add(Factors<T>& factors, const Source<T>& next,
                                      const Present& present) {
    double y[tiles_n][2];
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) mma(at[i][j], factors.x[i], factors.y[j]);
      if (i == 0) {
        present();
        next.load_y(y);
      }
      next.load_x(factors.x[i], i);
    }
#pragma unroll
    for (int j = 0; j < tiles_n; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) factors.y[j][e] = y[j][e];
    }
  }

  template <class F>
  __device__ __forceinline__ void each(const F& f) {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) f(at[i][j][e], (i * tiles_n + j) * 4 + e);
      }
    }
  }

  /// Stores this warp's part of C, which begins at (row0, col0).
  __device__ __forceinline__ void store_to(const Gemm<double>& g, index_t row0, index_t col0,
                                           int group, int t) {
    const bool vectors = T::pairs && g.beta == 0 && g.c.ld % 2 == 0 &&
                         reinterpret_cast<std::uintptr_t>(g.c.data) % 16 == 0;
#pragma unroll
    for (int i = 0; i < 2 * tiles_m; ++i) {
      const index_t row = row0 + T::A::index(group, i);
      if (row >= g.c.rows) continue;
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) {
        const index_t col[2] = {col0 + T::B::index(2 * t, j), col0 + T::B::index(2 * t + 1, j)};
        const double* sum = at[i / 2][j] + i % 2 * 2;
        if (vectors && col[1] < g.c.cols) {
          *reinterpret_cast<double2*>(&g.c(row, col[0])) =
              double2{g.alpha * sum[0], g.alpha * sum[1]};
          continue;
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (col[e] < g.c.cols) store(g.c(row, col[e]), g.alpha, sum[e], g.beta);
        }
      }
    }
  }
};

/// The position of a thread's part in the block's tile.
template <class T>
struct Place {
  int group, t, row, col;
  __device__ __forceinline__ explicit Place(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    group = lane / 4;
    t = lane % 4;
    row = warp % (T::m / T::warp_m) * T::warp_m;
    col = warp / (T::m / T::warp_m) * T::warp_n;
  }
};

/// Reads threadIdx.x again, so that values derived from it occupy no register until then.
__device__ __forceinline__ int thread_again() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

template <class T>
__device__ __forceinline__ void multiply_tiles(const Gemm<double>& g, const Shared<T>& shared,
                                               const Shares& shares,
                                               const Exchange<double>& exchange) {
  const Place<T> place(static_cast<int>(threadIdx.x));
  const typename T::A a(place.row, place.group, place.t);
  const typename T::B b(place.col, place.group, place.t);
  const auto add = [&](Sums<T>& sums, Stages<T>& stages, int steps) {
    Factors<T> factors(Source<T>{a, b, stages.wait(), 0});
    for (int step = 0; step < steps; ++step) {
      const unsigned stage = stages.address();
      sums.add(factors, Source<T>{a, b, stage, 1}, [] {});
      stages.advance();
      const bool more = step + 1 < steps;
      sums.add(factors, Source<T>{a, b, more ? stages.address() : stage, 0}, [&] {
        if (more) stages.wait();
      });
    }
  };
  multiply_parts<T, Sums<T>>(
      g.c, shared, shares, exchange, add, [&](Sums<T>& sums, int row0, int col0) {
        const Place<T> here(thread_again());
        sums.store_to(g, row0 + here.row, col0 + here.col, here.group, here.t);
      });
}

template <class T>
__global__ void __launch_bounds__(T::threads, T::blocks)
    tensor_tma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const Gemm<double> g, const Shares shares, const Exchange<double> exchange) {
  if constexpr (kernels::compiled_for < 90) return;  // never launched there
  extern __shared__ unsigned char raw[];
  const Shared<T> shared(raw);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  shared.begin();
  if (warp >= T::warps) {
    if constexpr (T::regroups) give_registers<40>();
    if (threadIdx.x == 32 * T::warps) copy_operands<T>(g.c, map_a, map_b, shared, shares);
  } else {
    if constexpr (T::regroups) take_registers<232>();
    multiply_tiles<T>(g, shared, shares, exchange);
  }
}

template <class T>
void launch(const Gemm<double>& g, const DeviceLimits& limits, DeviceStream stream) {
  launch_parts<T>(tensor_tma<T>, tensor_map(g.a, T::A::box_rows, T::A::box_cols),
                  tensor_map(g.b, T::B::box_rows, T::B::box_cols), g, limits, stream);
}

template <Op op_a, Op op_b>
using Large = Tile<op_a == Op::none, op_b == Op::transpose, 128, 128, 64, 32, 6, 1>;
template <Op op_a, Op op_b>
using Small = Tile<op_a == Op::none, op_b == Op::transpose, 64, 64, 32, 32, 4, 2>;

/// The steps along k and the cycles of a tile. Its last rounds are cut, so none is lost
/// (parts.hpp).
template <class T>
constexpr TileCost cost_of_ring(const TileCycles& cycles) {
  return {.m = T::m,
          .n = T::n,
          .k = T::depth,
          .blocks = T::blocks,
          .alone = cycles.alone,
          .busy = cycles.busy,
          .begin = cycles.begin};
}
constexpr TileCost costs[] = {cost_of_ring<Large<Op::none, Op::none>>({125, 125, 5000}),
                              cost_of_ring<Small<Op::none, Op::none>>({50, 37, 4000})};

bool takes(const Gemm<double>& g) {
  return fits_tensor_map(g.a) && fits_tensor_map(g.b) &&
         g.k() <= std::numeric_limits<int>::max() / 2 && kernels::device_code().architecture >= 90;
}

Tiling best_of(const Gemm<double>& g) {
  return cheapest_tiling(costs, g.m(), g.n(), g.k(),
                         {.multiprocessors = device_limits().multiprocessors});
}

}  // namespace

bool cuda_tensor_tma(const Gemm<double>& g, DeviceStream stream) {
  if (!takes(g)) return false;
  const DeviceLimits limits = device_limits();
  const bool large = best_of(g).tile == 0;
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    if (large) return launch<Large<op_a(), op_b()>>(g, limits, stream);
    launch<Small<op_a(), op_b()>>(g, limits, stream);
  });
  return true;
}

TileCost tensor_tma_cost(const Gemm<double>& g) {
  return takes(g) ? costs[best_of(g).tile] : if_fits(false, costs[0]);
}

void add_tensor_tma_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const char* of, T) {
    to.push_back({"cuda_tensor", of, reinterpret_cast<const void*>(tensor_tma<T>), T::threads,
                  T::shared_bytes});
  };
  add("f64, large tile", Large<Op::none, Op::none>{});
  add("f64, small tile", Small<Op::none, Op::none>{});
  add_wgmma_functions(to);
}

}  // namespace tessera::inline v1::matmul
