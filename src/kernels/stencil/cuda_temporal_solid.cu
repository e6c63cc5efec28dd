// Several steps a pass in three dimensions: a block walks along z with a tile of x and y. A row of the tile
// is a warp wide, so that neighbours along x come by shuffles; a thread holds some rows of it, and those at
// the ends of its warp's rows go through shared memory, one barrier a level and plane.

#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::stencil {
namespace {

constexpr int solid_warps = 12;  // along y; 384 threads leave each of them 168 registers
constexpr int solid_rows = 4;    // of a thread, along y

extern __shared__ unsigned char shared_rows[];

/// By level: the last plane and the sum for it, which lacks the plane to come. Far from the first and the
/// last plane of the field the product of the plane with the first weight takes its place.
template <class T, int steps>
struct SolidLevels {
  Vector<T> last[steps][solid_rows], sum[steps][solid_rows];
};

/// What a block keeps of its tile: planes [low, high), rows and points.
struct KeptSolid {
  int low, high, low_y, high_y, low_x, high_x;
};

/// A block's walk along z, of a tile that reaches an end of the rows or of the planes if `edges`.
template <class T, int steps, bool hollow, bool edges>
struct SolidMarch {
  static constexpr int length = vector_length<T>, rows = solid_rows;
  using V = Vector<T>;
  using State = SolidLevels<T, steps>;
  const Pass<T>& p;
  const Axis& walked;
  Lane<length> lane;
  KeptSolid kept;
  Cursor cursor;
  int z;                            ///< the plane that comes next to the first level
  int y0, row_of[rows];             ///< of the thread's first row; where its rows lie
  int low_row = -1, high_row = -1;  ///< which of them are the first and the last of the field
  V (*ends)[solid_warps][2][32];    // (slots, warps, first and last row of the warp, lanes), shared
  V next[rows];                     ///< the plane to come, on its way
  State levels{};

  __device__ SolidMarch(const Pass<T>& pass, index_t x, index_t y, int first, KeptSolid what)
      : p(pass),
        walked(pass.axis[0]),
        lane(pass.axis[2], x),
        kept(what),
        cursor(pass.axis[0], first),
        z(first),
        y0(static_cast<int>(y)),
        ends(reinterpret_cast<V (*)[solid_warps][2][32]>(shared_rows)) {
    const Axis& across = p.axis[1];
#pragma unroll
    for (int j = 0; j < rows; ++j) row_of[j] = static_cast<int>(edges ? across.readable(y + j) : y + j);
    if (across.edge[0]) low_row = static_cast<int>(across.begin - y);
    if (across.edge[1]) high_row = static_cast<int>(across.end - 1 - y);
    fetch(next);
  }

  __device__ __forceinline__ const T* row_at(int plane, int y) const {
    return p.in + plane * p.stride[0] + y * p.stride[1];
  }
  __device__ __forceinline__ void load(int plane, V (&c)[rows]) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) c[j] = lane.template load<edges>(row_at(plane, row_of[j]));
  }
  __device__ __forceinline__ void fetch(V (&c)[rows]) { load(cursor.next(), c); }

  /// What lies beyond the first or the last row of plane `at`; inner: the row before it.
  __device__ __forceinline__ V beyond(int side, int at, const V& here, const V& inner) const {
    const Axis& across = p.axis[1];
    if (across.fixed(side)) {
      const int y = static_cast<int>(side == 0 ? across.begin - 1 : across.end);
      return lane.template load<edges>(row_at(static_cast<int>(turned(walked, at)), y));
    }
    return across.mirrors(side) ? inner : here;
  }

  /// sum and the products within plane c, which is plane `at`. All threads of the block come here together; a
  /// slot is written again only after another barrier.
  __device__ __forceinline__ void add_within(const V (&c)[rows], int slot, int at, V (&to)[rows]) const {
    const unsigned warp = threadIdx.y, column = threadIdx.x;
    ends[slot][warp][0][column] = c[0];
    ends[slot][warp][1][column] = c[rows - 1];
    __syncthreads();
    const V above = ends[slot][warp > 0 ? warp - 1 : 0][1][column];
    const V below = ends[slot][warp + 1 < solid_warps ? warp + 1 : warp][0][column];
    V fixed_up = above, fixed_down = below;
    if constexpr (edges) {
      if (low_row == 0) fixed_up = beyond(0, at, c[0], c[1]);
      if (high_row >= 0 && high_row < rows) {
        V here = c[0], inner = above;
#pragma unroll
        for (int j = 1; j < rows; ++j) {
          if (j == high_row) {
            here = c[j];
            inner = c[j - 1];
          }
        }
        fixed_down = beyond(1, at, here, inner);
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      V up = j > 0 ? c[j > 0 ? j - 1 : 0] : fixed_up;
      V down = j < rows - 1 ? c[j < rows - 1 ? j + 1 : 0] : below;
      T ghost{};
      if constexpr (edges) {
        if (j == high_row) down = fixed_down;
        if (lane.fixed) ghost = lane.ghost(row_at(static_cast<int>(turned(walked, at)), row_of[j]));
      }
      add_product(p.weight[1], up, to[j]);
      lane.template add_along<edges, hollow>(p.weight + 2, c[j], ghost, to[j]);
      add_product(p.weight[5], down, to[j]);
    }
  }

  __device__ __forceinline__ void keep(const V (&c)[rows]) const {
    if (z - steps < kept.low) return;
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      if (y0 + j < kept.low_y || y0 + j >= kept.high_y) continue;
      put_part(p.out + (z - steps) * p.stride[0] + (y0 + j) * p.stride[1], lane.x, kept.low_x, kept.high_x,
               c[j]);
    }
  }
  __device__ __forceinline__ static void copy(const V (&from)[rows], V (&to)[rows]) {
#pragma unroll
    for (int j = 0; j < rows; ++j) to[j] = from[j];
  }
  __device__ __forceinline__ void multiply(const V (&c)[rows], V (&to)[rows]) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) to[j] = times(p.weight[0], c[j]);
  }

  /// Planes far from the field's first and last one.
  __device__ __forceinline__ void inner_planes(int end) {
    for (; z < end; ++z) {
      V c[rows];
      copy(next, c);
      fetch(next);
#pragma unroll
      for (int level = 0; level < steps; ++level) {
        V(&sum)[rows] = levels.sum[level];
        V result[rows];
#pragma unroll
        for (int j = 0; j < rows; ++j) {
          result[j] = sum[j];
          add_product(p.weight[6], c[j], result[j]);
          sum[j] = levels.last[level][j];
        }
        add_within(c, level, z - level, sum);
        multiply(c, levels.last[level]);
        copy(result, c);
      }
      keep(c);
    }
  }

  /// Plane `at` of a level has come, perhaps the first or the last of the field; c becomes the one before of
  /// the next level.
  __device__ __forceinline__ void advance_at_edge(State& l, int level, int at, bool multiplied,
                                                  V (&c)[rows]) const {
    V before[rows], s[rows], result[rows];
    copy(l.last[level], before);
    copy(l.sum[level], s);
    if (walked.edge[1] && at == walked.end) {
      if (walked.fixed(1)) {
        load(at, c);
      } else {
        copy(before, c);
      }
    }
    if (walked.mirrors(0) && at == walked.begin + 1) {  // the first plane's sum, now that its image is known
      multiply(c, s);
      add_within(before, steps, at - 1, s);
    }
    if (walked.edge[0] && at == walked.begin) {
      if (walked.fixed(0)) {
        load(at - 1, before);
      } else {
        copy(c, before);
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      result[j] = s[j];
      add_product(p.weight[6], c[j], result[j]);
      s[j] = multiplied ? before[j] : times(p.weight[0], before[j]);
    }
    add_within(c, level, at, s);
    copy(s, l.sum[level]);
    if (walked.mirrors(1) && at == walked.end - 1) {  // its own mirror image stays
      copy(before, l.last[level]);
    } else {
      copy(c, l.last[level]);
    }
    copy(result, c);
  }
  /// The few planes near the field's first or last one, level by level in a loop: so they need no more
  /// registers than the others.
  __device__ __forceinline__ void edge_planes(int end, bool multiplied) {
    State l = levels;
    for (; z < end; ++z) {
      V c[rows];
      copy(next, c);
      fetch(next);
#pragma unroll 1
      for (int level = 0; level < steps; ++level) advance_at_edge(l, level, z - level, multiplied, c);
      multiplied = false;
      keep(c);
    }
    levels = l;
  }

  /// All planes of the chunk.
  __device__ __forceinline__ void run() {
    const auto multiply_all = [&] {
#pragma unroll
      for (int level = 0; level < steps; ++level) multiply(levels.last[level], levels.last[level]);
    };
    walk(
        walked, steps, kept.high, z, [&](int end, bool multiplied) { edge_planes(end, multiplied); },
        multiply_all, [&](int end) { inner_planes(end); });
  }
};

template <class T, int steps, bool hollow>
__global__ void __launch_bounds__(32 * solid_warps, 1) solid_pass(const __grid_constant__ Pass<T> p) {
  const auto place = [](const Tiles& tiles, index_t i, int& low, int& high) {
    low = static_cast<int>(tiles.low(i));
    high = static_cast<int>(tiles.high(i));
    return tiles.start(i);
  };
  const index_t tile_x = blockIdx.x % p.tiles[2].count, row = blockIdx.x / p.tiles[2].count;
  const index_t tile_y = row % p.tiles[1].count, chunk = row / p.tiles[1].count;
  KeptSolid kept;
  const index_t x0 = place(p.tiles[2], tile_x, kept.low_x, kept.high_x),
                y0 = place(p.tiles[1], tile_y, kept.low_y, kept.high_y);
  place(p.tiles[0], chunk, kept.low, kept.high);
  const bool edges =
      at_end(p.axis[2], x0, x0 + p.tiles[2].span) || at_end(p.axis[1], y0, y0 + p.tiles[1].span);
  const index_t x = x0 + threadIdx.x * vector_length<T>, y = y0 + threadIdx.y * solid_rows;
  int first = kept.low - steps;
  if (p.axis[0].edge[0]) first = max(first, static_cast<int>(p.axis[0].begin));
  if (edges) {
    SolidMarch<T, steps, hollow, true>(p, x, y, first, kept).run();
  } else {
    SolidMarch<T, steps, hollow, false>(p, x, y, first, kept).run();
  }
}

/// Of shared memory: the slots of the rows that warps exchange.
template <int steps>
constexpr int solid_bytes = (steps + 1) * solid_warps * 2 * 32 * 16;

template <class T, int steps, bool hollow>
void launch_solid(Pass<T> p, const Tuning& tuning, DeviceStream stream) {
  constexpr index_t length = vector_length<T>;
  constexpr int bytes = solid_bytes<steps>;
  p.tiles[2] = tiles_of(p.axis[2], 32 * length, round_up(steps, length), length);
  p.tiles[1] = tiles_of(p.axis[1], solid_warps * solid_rows, steps, 1);
  const auto kernel = solid_pass<T, steps, hollow>;
  machine::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                       "cudaFuncSetAttribute");
  const index_t others = checked_mul(p.tiles[1].count, p.tiles[2].count, "a launch");
  const index_t resident = resident_blocks(kernel, 32 * solid_warps, bytes);
  p.tiles[0] =
      chunks_of(p.axis[0], steps,
                chunks_to_fill(p.axis[0], steps, others, resident, tuning.march > 0 ? tuning.march : 64));
  const index_t blocks = checked_mul(others, p.tiles[0].count, "a launch");
  kernel<<<narrow<unsigned>(blocks), dim3(32, solid_warps), bytes, stream>>>(p);
}

}  // namespace

template <class T>
void march_solid(const DeviceSweep<T>& s, int from, index_t done, index_t steps, const Tuning& tuning,
                 DeviceStream stream) {
  const Pass<T> p = pass_of(s, from, done, steps);
  const auto launch = [&]<int length>() {
    if (steps != length) return;
    if (s.hollow) {
      launch_solid<T, length, true>(p, tuning, stream);
    } else {
      launch_solid<T, length, false>(p, tuning, stream);
    }
  };
  launch.template operator()<2>();
  check_launch();
}

template void march_solid(const DeviceSweep<float>&, int, index_t, index_t, const Tuning&, DeviceStream);
template void march_solid(const DeviceSweep<double>&, int, index_t, index_t, const Tuning&, DeviceStream);

void add_temporal_solid_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, int steps>(const char* of, T, std::integral_constant<int, steps>) {
    to.push_back(machine::device_function("cuda_temporal", of, solid_pass<T, steps, false>, 32 * solid_warps,
                                          solid_bytes<steps>));
  };
  add("f32, three dimensions, 2 steps", 0.0F, std::integral_constant<int, 2>{});
  add("f64, three dimensions, 2 steps", 0.0, std::integral_constant<int, 2>{});
}

}  // namespace tessera::stencil
