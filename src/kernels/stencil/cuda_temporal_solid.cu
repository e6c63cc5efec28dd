// Several steps a pass in three dimensions: a block walks along z with a tile of x and y. A row of the tile
// is a warp wide, so that neighbours along x come by shuffles; a thread holds some rows of it, and those at
// the ends of its warp's rows go through shared memory, one barrier a level and plane.

#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::stencil {
namespace {

constexpr int solid_warps = 12;  // along y; 384 threads leave each of them 168 registers
constexpr int solid_rows = 4;    // of a thread, along y

extern __shared__ unsigned char shared_rows[];

template <class T, int steps, bool edges>
struct SolidMarch {
  static constexpr int length = vector_length<T>, rows = solid_rows;
  using V = Vector<T>;
  const Pass<T>& p;
  const Axis &across, &walked;
  Lane<length, edges> lane;
  index_t y0;
  V (*ends)[solid_warps][2][32];          // (slots, warps, first and last row of the warp, lanes), shared
  V last[steps][rows], sum[steps][rows];  // as in two dimensions

  __device__ SolidMarch(const Pass<T>& pass, index_t x, index_t y)
      : p(pass),
        across(pass.axis[1]),
        walked(pass.axis[0]),
        lane(pass.axis[2], x),
        y0(y),
        ends(reinterpret_cast<V (*)[solid_warps][2][32]>(shared_rows)),
        last{},
        sum{} {}

  __device__ __forceinline__ const T* row_at(index_t z, index_t y) const {
    return p.in + z * p.stride[0] + y * p.stride[1];
  }
  __device__ __forceinline__ void load(index_t z, V (&c)[rows]) const {
    const index_t from = edges ? walked.readable(z) : z;
#pragma unroll
    for (int j = 0; j < rows; ++j) c[j] = lane.load(row_at(from, edges ? across.readable(y0 + j) : y0 + j));
  }
  __device__ __forceinline__ void load_ghosts(index_t z, V (&c)[rows]) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) c[j] = lane.load(row_at(z, across.readable(y0 + j)));
  }

  /// sum and the products within plane c, of index z. All threads of the block come here together; a slot is
  /// written again only after another barrier.
  __device__ __forceinline__ void add_within(const V (&c)[rows], int slot, index_t z, V (&to)[rows]) const {
    const unsigned warp = threadIdx.y, at = threadIdx.x;
    ends[slot][warp][0][at] = c[0];
    ends[slot][warp][1][at] = c[rows - 1];
    __syncthreads();
    const V above = ends[slot][warp > 0 ? warp - 1 : 0][1][at];
    const V below = ends[slot][warp + 1 < solid_warps ? warp + 1 : warp][0][at];
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      V up = j > 0 ? c[j > 0 ? j - 1 : 0] : above;
      V down = j < rows - 1 ? c[j < rows - 1 ? j + 1 : 0] : below;
      if constexpr (edges) {
        const V inner = up;
        const index_t y = y0 + j;
        if (across.edge[0] && y == across.begin) {
          up = across.fixed(0)     ? lane.load(row_at(walked.readable(z), y - 1))
               : across.mirrors(0) ? down
                                   : c[j];
        }
        if (across.edge[1] && y == across.end - 1) {
          down = across.fixed(1)     ? lane.load(row_at(walked.readable(z), y + 1))
                 : across.mirrors(1) ? inner
                                     : c[j];
        }
      }
      add_product(p.weight[1], up, to[j]);
      lane.add_along(
          p.axis[2], p.weight + 2, p.hollow, c[j],
          [&](index_t x) { return __ldg(row_at(walked.readable(z), across.readable(y0 + j)) + x); }, to[j]);
      add_product(p.weight[5], down, to[j]);
    }
  }

  /// Plane z of a level has come; c becomes plane z - 1 of the next.
  __device__ __forceinline__ void advance(int level, index_t z, V (&c)[rows]) {
    V(&before)[rows] = last[level];
    V(&s)[rows] = sum[level];
    if constexpr (edges) {
      if (walked.edge[1] && z == walked.end) {
        if (walked.fixed(1)) {
          load_ghosts(z, c);
        } else {
          copy(before, c);
        }
      }
      if (walked.mirrors(0) && z == walked.begin + 1) {
#pragma unroll
        for (int j = 0; j < rows; ++j) s[j] = times(p.weight[0], c[j]);
        add_within(before, steps, z - 1, s);
      }
      if (walked.edge[0] && z == walked.begin) {
        if (walked.fixed(0)) {
          load_ghosts(z - 1, before);
        } else {
          copy(c, before);
        }
      }
    }
    V result[rows];
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      result[j] = s[j];
      add_product(p.weight[6], c[j], result[j]);
      s[j] = edges ? times(p.weight[0], before[j]) : before[j];
    }
    add_within(c, level, z, s);
    if constexpr (edges) {
      if (!(walked.mirrors(1) && z == walked.end - 1)) copy(c, before);
    } else {
#pragma unroll
      for (int j = 0; j < rows; ++j) before[j] = times(p.weight[0], c[j]);
    }
    copy(result, c);
  }

  __device__ __forceinline__ static void copy(const V (&from)[rows], V (&to)[rows]) {
#pragma unroll
    for (int j = 0; j < rows; ++j) to[j] = from[j];
  }

  __device__ __forceinline__ void run(index_t tile_x, index_t tile_y, index_t chunk) {
    const index_t low = p.tiles[0].low(chunk), high = p.tiles[0].high(chunk);
    const index_t first = edges && walked.edge[0] ? max(low - steps, walked.begin) : low - steps;
    V next[rows];
    load(first, next);
    for (index_t z = first; z < high + steps; ++z) {
      V c[rows];
      copy(next, c);
      load(edges ? z + 1 : min(z + 1, walked.end - 1), next);
#pragma unroll
      for (int level = 0; level < steps; ++level) advance(level, z - level, c);
      if (z - steps < low) continue;
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const index_t y = y0 + j;
        if (y < p.tiles[1].low(tile_y) || y >= p.tiles[1].high(tile_y)) continue;
        put_part(p.out + (z - steps) * p.stride[0] + y * p.stride[1], lane.x, p.tiles[2].low(tile_x),
                 p.tiles[2].high(tile_x), c[j]);
      }
    }
  }
};

template <class T, int steps>
__global__ void __launch_bounds__(32 * solid_warps, 1) solid_pass(const __grid_constant__ Pass<T> p) {
  const index_t tile_x = blockIdx.x % p.tiles[2].count, row = blockIdx.x / p.tiles[2].count;
  const index_t tile_y = row % p.tiles[1].count, chunk = row / p.tiles[1].count;
  const index_t x0 = p.tiles[2].start(tile_x), y0 = p.tiles[1].start(tile_y);
  const bool edges = at_end(p.axis[2], x0, x0 + p.tiles[2].span) ||
                     at_end(p.axis[1], y0, y0 + p.tiles[1].span) ||
                     at_end(p.axis[0], p.tiles[0].low(chunk) - steps, p.tiles[0].high(chunk) + steps);
  const index_t x = x0 + threadIdx.x * vector_length<T>, y = y0 + threadIdx.y * solid_rows;
  if (edges) {
    SolidMarch<T, steps, true>(p, x, y).run(tile_x, tile_y, chunk);
  } else {
    SolidMarch<T, steps, false>(p, x, y).run(tile_x, tile_y, chunk);
  }
}

/// Of shared memory: the slots of the rows that warps exchange.
template <int steps>
constexpr int solid_bytes = (steps + 1) * solid_warps * 2 * 32 * 16;

template <class T, int steps>
void launch_solid(Pass<T> p, const Tuning& tuning, DeviceStream stream) {
  constexpr index_t length = vector_length<T>;
  constexpr int bytes = solid_bytes<steps>;
  p.tiles[2] = tiles_of(p.axis[2], 32 * length, round_up(steps, length), length);
  p.tiles[1] = tiles_of(p.axis[1], solid_warps * solid_rows, steps, 1);
  const auto kernel = solid_pass<T, steps>;
  machine::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                       "cudaFuncSetAttribute");
  const index_t others = checked_mul(p.tiles[1].count, p.tiles[2].count, "a launch");
  const index_t resident = resident_blocks(kernel, 32 * solid_warps, bytes);
  p.tiles[0] = chunks_of(p.axis[0], steps, chunks_to_fill(p.axis[0], steps, others, resident, tuning.march));
  const index_t blocks = checked_mul(others, p.tiles[0].count, "a launch");
  kernel<<<narrow<unsigned>(blocks), dim3(32, solid_warps), bytes, stream>>>(p);
}

}  // namespace

template <class T>
void march_solid(const DeviceSweep<T>& s, int from, index_t done, index_t steps, const Tuning& tuning,
                 DeviceStream stream) {
  const Pass<T> p = pass_of(s, from, done, steps);
  const auto launch = [&]<int length>() {
    if (steps == length) launch_solid<T, length>(p, tuning, stream);
  };
  launch.template operator()<2>();
  launch.template operator()<3>();
  check_launch();
}

template void march_solid(const DeviceSweep<float>&, int, index_t, index_t, const Tuning&, DeviceStream);
template void march_solid(const DeviceSweep<double>&, int, index_t, index_t, const Tuning&, DeviceStream);

void add_temporal_solid_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T, int steps>(const char* of, T, std::integral_constant<int, steps>) {
    to.push_back(machine::device_function("cuda_temporal", of, solid_pass<T, steps>, 32 * solid_warps,
                                          solid_bytes<steps>));
  };
  add("f32, three dimensions, 2 steps", 0.0F, std::integral_constant<int, 2>{});
  add("f32, three dimensions, 3 steps", 0.0F, std::integral_constant<int, 3>{});
  add("f64, three dimensions, 2 steps", 0.0, std::integral_constant<int, 2>{});
  add("f64, three dimensions, 3 steps", 0.0, std::integral_constant<int, 3>{});
}

}  // namespace tessera::stencil
