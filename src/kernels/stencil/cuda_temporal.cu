// Temporal blocking: several steps per pass. In two dimensions warps are independent: lanes hold
// adjacent vectors and exchange values along the row by shuffles, without barriers (the register
// rings are those of Matsumura et al. 2020; the few big tiles those of Zhang et al. 2023). Sweeps
// that cannot be blocked this way run in single steps.

#include <algorithm>
#include <string>

#include "kernels/cuda_code.hpp"
#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::inline v1::stencil {
namespace {

constexpr int plane_warps = 4;  // per block; they share nothing
template <class T>
constexpr int plane_length = sizeof(T) == 2 ? 8 : 4;  // elements per lane

/// Returns the blocks per multiprocessor: a thread needs registers for two values per level and
/// element, and some others, more for halves.
template <class T, int steps>
constexpr int plane_blocks() {
  constexpr int registers =
      2 * steps * plane_length<T> * static_cast<int>(sizeof(Arithmetic<T>)) / 4 +
      (sizeof(T) == 2 ? 96 : 80);
  return registers <= 128 ? 4 : registers <= 168 ? 3 : 2;
}

/// The levels of a pass, for the vectors of one lane.
template <class T, int steps, bool edges>
struct Levels {
  /// By level: the last row and its sum, which lacks the next row. Far from the first and the last
  /// row of the field, the sum is replaced by the product of the row with the first weight.
  using A = Arithmetic<T>;
  Vector<A, plane_length<T>> last[steps], sum[steps];
  A ghost[edges ? steps + 1 : 1];  ///< neighbours of the row that arrives at a level and of the
                                   ///< previous one

  __device__ __forceinline__ void bring(A adjacent) {
    if constexpr (edges) {
#pragma unroll
      for (int level = steps; level > 0; --level) ghost[level] = ghost[level - 1];
      ghost[0] = adjacent;
    }
  }
  [[nodiscard]] __device__ __forceinline__ A adjacent(int level) const {
    return ghost[edges ? level : 0];
  }
  __device__ __forceinline__ void multiply(A weight) {
#pragma unroll
    for (int level = 0; level < steps; ++level) last[level] = times(weight, last[level]);
  }
};

/// The part of a tile that a warp stores: of the chunk of rows [low, high) the points [low_x,
/// high_x).
struct Kept {
  int low, high, low_x, high_x;
};

/// The walk of a warp down a chunk of a tile. `edges`: the tile reaches an end of the rows.
template <class T, int steps, bool hollow, bool edges>
struct PlaneMarch {
  static constexpr int length = plane_length<T>;
  using A = Arithmetic<T>;
  using V = Vector<A, length>;
  using State = Levels<T, steps, edges>;
  const Pass<T>& p;
  const Axis& walked;
  Lane<length> lane;
  Kept kept;
  Cursor cursor;
  int y;                              ///< the next row of the first level
  Vector<T, length> next{}, after{};  ///< the next rows, being loaded
  A ghost_next{}, ghost_after{};
  State levels{};

  __device__ PlaneMarch(const Pass<T>& pass, index_t x, int first, Kept what)
      : p(pass),
        walked(pass.axis[1]),
        lane(pass.axis[2], x),
        kept(what),
        cursor(pass.axis[1], first),
        y(first) {
    fetch();
    fetch();
  }

  __device__ __forceinline__ void fetch() {
    const T* const row = p.in + cursor.next() * p.stride[1];
    next = after;
    after = lane.template load<edges>(row);
    if constexpr (edges) {
      ghost_next = ghost_after;
      ghost_after = lane.ghost(row);
    }
  }
  __device__ __forceinline__ void keep(const V& c) const {
    if (y - steps >= kept.low)
      put_part(p.out + (y - steps) * p.stride[1], lane.x, kept.low_x, kept.high_x, all_kept<T>(c));
  }
  /// Returns a fixed row beyond the field.
  __device__ __forceinline__ V ghost_row(int at) const {
    return all_computed(lane.template load<edges>(p.in + at * p.stride[1]));
  }
  __device__ __forceinline__ void add_along(const V& c, A adjacent, V& to) const {
    lane.template add_along<edges, hollow>(p.weight + 1, c, adjacent, to);
  }

  /// Processes rows far from the field's first and last one.
  __device__ __forceinline__ void inner_rows(int end) {
    for (; y < end; ++y) {
      V c = all_computed(next);
      levels.bring(ghost_next);
      fetch();
#pragma unroll
      for (int level = 0; level < steps; ++level) {
        V& sum = levels.sum[level];
        V result = sum;
        add_product(p.weight[4], c, result);
        sum = levels.last[level];
        add_along(c, levels.adjacent(level), sum);
        levels.last[level] = times(p.weight[0], c);
        c = all_computed(all_kept<T>(result));
      }
      keep(c);
    }
  }

  /// Processes row `at` of a level, which may be near the first or the last of the field; returns
  /// the previous row of the next level.
  __device__ __forceinline__ V advance_at_edge(State& l, int level, int at, bool multiplied, V c) {
    V before = l.last[level], s = l.sum[level];
    if (walked.edge[1] && at == walked.end) c = walked.fixed(1) ? ghost_row(at) : before;
    if (walked.mirrors(0) &&
        at == walked.begin + 1) {  // the first row's sum, now that its image is known
      s = times(p.weight[0], c);
      add_along(before, l.adjacent(level + 1), s);
    }
    if (walked.edge[0] && at == walked.begin) before = walked.fixed(0) ? ghost_row(at - 1) : c;
    V result = s;
    add_product(p.weight[4], c, result);
    s = multiplied ? before : times(p.weight[0], before);
    add_along(c, l.adjacent(level), s);
    l.sum[level] = s;
    l.last[level] =
        walked.mirrors(1) && at == walked.end - 1 ? before : c;  // its own mirror image stays
    return all_computed(all_kept<T>(result));
  }
  /// Processes the few rows near the field's first or last one, level by level in a loop, so that
  /// they need no more registers than the others.
  __device__ __forceinline__ void edge_rows(int end, bool multiplied) {
    State l = levels;
    for (; y < end; ++y) {
      V c = all_computed(next);
      l.bring(ghost_next);
      fetch();
#pragma unroll 1
      for (int level = 0; level < steps; ++level)
        c = advance_at_edge(l, level, y - level, multiplied, c);
      multiplied = false;
      keep(c);
    }
    levels = l;
  }

  /// Walks all rows of the chunk.
  __device__ __forceinline__ void run() {
    walk(
        walked, steps, kept.high, y, [&](int end, bool multiplied) { edge_rows(end, multiplied); },
        [&] { levels.multiply(p.weight[0]); }, [&](int end) { inner_rows(end); });
  }
};

constexpr index_t most_ends =
    3;  // tiles along x that may extend beyond the points: the first, the last two

template <class T, int steps, bool hollow>
__global__ void __launch_bounds__(32 * plane_warps, plane_blocks<T, steps>())
    plane_pass(const __grid_constant__ Pass<T> p) {
  const Tiles& across = p.tiles[2];
  const index_t ends = min(across.count, most_ends), end_warps = ends * p.end_rows.count;
  index_t warp = index_t{blockIdx.x} * plane_warps + threadIdx.y;
  const bool at_ends = warp < end_warps;
  if (!at_ends) warp -= end_warps;
  const index_t side_by_side = at_ends ? ends : across.count - ends;
  const Tiles& down = at_ends ? p.end_rows : p.tiles[1];
  const index_t chunk = side_by_side > 0 ? warp / side_by_side : down.count;
  if (chunk >= down.count) return;
  const index_t number = warp % side_by_side;
  const index_t tile = !at_ends ? 1 + number : number == 0 ? 0 : across.count - number;
  const index_t start = across.start(tile), low = down.low(chunk) - steps;
  const Kept kept{static_cast<int>(low + steps), static_cast<int>(down.high(chunk)),
                  static_cast<int>(across.low(tile)), static_cast<int>(across.high(tile))};
  const index_t x = start + threadIdx.x * plane_length<T>;
  const int first = static_cast<int>(p.axis[1].edge[0] ? max(low, p.axis[1].begin) : low);
  if (at_end(p.axis[2], start, start + across.span)) {
    PlaneMarch<T, steps, hollow, true>(p, x, first, kept).run();
  } else {
    PlaneMarch<T, steps, hollow, false>(p, x, first, kept).run();
  }
}

template <class T, int steps, bool hollow>
void launch_plane(Pass<T> p, const Tuning& tuning, DeviceStream stream) {
  constexpr index_t length = plane_length<T>, halo = round_up(steps, length);
  const Axis& walked = p.axis[1];
  p.tiles[2] = tiles_of(p.axis[2], 32 * length, halo, length);
  const auto kernel = plane_pass<T, steps, hollow>;
  const index_t resident = resident_blocks(kernel, 32 * plane_warps, 0) * plane_warps;
  const index_t ends = std::min(p.tiles[2].count, most_ends), others = p.tiles[2].count - ends;
  const index_t chunks = chunks_to_fill(walked, steps, others + 2 * ends, resident, tuning.march);
  p.tiles[1] = chunks_of(walked, steps, chunks);
  p.end_rows = chunks_of(walked, steps, 2 * chunks);
  const index_t warps = checked_mul(p.tiles[1].count, others, "size of a launch") +
                        checked_mul(p.end_rows.count, ends, "size of a launch");
  kernel<<<narrow<unsigned>(ceil_div(warps, index_t{plane_warps})), dim3(32, plane_warps), 0,
           stream>>>(p);
}

/// Returns the default limit of steps per pass: the fastest on an H200 at 8192 x 8192 and at 512^3
/// and above. Solids that fit two thirds of the second-level cache are swept step by step, those of
/// halves up to twice as many bytes: their passes are compute-bound, not memory-bound.
template <class T>
index_t default_steps(const DeviceSweep<T>& s) {
  if (s.dims < 3) return sizeof(T) == 4 ? 8 : 6;
  const index_t levels = 2 * s.extent.volume() * static_cast<index_t>(sizeof(T));
  const index_t cache = machine::cuda::attribute(cudaDevAttrL2CacheSize);
  if (3 * levels <= (sizeof(T) == 2 ? 4 : 2) * cache) return 1;
  return sizeof(T) == 8 ? 3 : 4;
}

/// Returns the most steps, up to `most`, whose passes over solids fit into shared memory; 1 if none
/// does.
template <class T>
index_t steps_that_fit(index_t most) {
  const index_t shared = kernels::shared_bytes_per_block();
  index_t fit = 1;
  for (const index_t steps : solid_steps) {
    if (steps > most || solid_shared_bytes<T>(steps) > shared) break;
    fit = steps;
  }
  return fit;
}

template <class T>
bool takes_passes(const DeviceSweep<T>& s) {
  if (s.star != 1 || s.two_levels || s.dims < 2) return false;
  for (int d = 3 - s.dims; d < 3; ++d) {
    if (s.extent[d] < 2) return false;  // both edges of a mirror at one point
    for (const int side : {0, 1}) {
      if (s.dims == 3 && s.line[d].kind[side] == Boundary::given)
        return false;  // solids do not maintain such ghosts
    }
  }
  return s.extent[2] > plane_length<T> &&
         s.extent[2] < (index_t{1} << 30);  // no lane holds both ends of a row
}

template <class T>
std::vector<index_t> passes_of(const DeviceSweep<T>& s, const Tuning& tuning) {
  const index_t most = tuning.base_steps > 0 ? tuning.base_steps : default_steps(s);
  if (s.dims == 3) return pass_lengths(s.steps, steps_that_fit<T>(most), solid_steps);
  return pass_lengths(s.steps, most, plane_steps<T>);
}

}  // namespace

template <class T>
void march_plane(const DeviceSweep<T>& s, int from, index_t done, index_t steps,
                 const Tuning& tuning, DeviceStream stream) {
  const Pass<T> p = pass_of(s, from, done, steps);
  const auto launch = [&]<int length>() {
    if (steps != length) return;
    if (s.hollow) {
      launch_plane<T, length, true>(p, tuning, stream);
    } else {
      launch_plane<T, length, false>(p, tuning, stream);
    }
  };
  launch.template operator()<2>();
  launch.template operator()<3>();
  launch.template operator()<4>();
  launch.template operator()<6>();
  if constexpr (sizeof(T) == 4) launch.template operator()<8>();
  check_launch();
}

/// Runs single steps first, because passes do not update ghosts.
template <class T>
int cuda_temporal(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  if (!takes_passes(s)) return cuda_streaming(s, tuning, stream);
  int level = 0;
  index_t done = 0;
  for (const index_t steps : passes_of(s, tuning)) {
    if (s.valid(done + steps).empty()) {
      // the other parts of the box cover this pass
    } else if (steps == 1) {
      streaming_step(s, done, level, tuning, stream);
    } else if (s.dims == 2) {
      march_plane(s, level, done, steps, tuning, stream);
    } else {
      march_solid(s, level, done, steps, tuning, stream);
    }
    level = 1 - level;
    done += steps;
  }
  return level;
}

template <class T>
Passes temporal_passes(const DeviceSweep<T>& s, const Tuning& tuning) {
  const Passes single = streaming_passes(s, tuning);
  if (!takes_passes(s)) return single;
  const std::vector<index_t> all = passes_of(s, tuning);
  return {static_cast<index_t>(all.size()),
          single.reads_ghosts && !all.empty() && all.front() == 1};
}

template int cuda_temporal(const DeviceSweep<Half>&, const Tuning&, DeviceStream);
template int cuda_temporal(const DeviceSweep<float>&, const Tuning&, DeviceStream);
template int cuda_temporal(const DeviceSweep<double>&, const Tuning&, DeviceStream);
template Passes temporal_passes(const DeviceSweep<Half>&, const Tuning&);
template Passes temporal_passes(const DeviceSweep<float>&, const Tuning&);
template Passes temporal_passes(const DeviceSweep<double>&, const Tuning&);

void add_temporal_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function) {
    to.push_back(machine::device_function("cuda_temporal", of, function, 32 * plane_warps));
  };
  const auto lengths = [&]<class T>(const std::string& type, T) {
    add(type + ", two dimensions, 2 steps", plane_pass<T, 2, false>);
    add(type + ", two dimensions, 3 steps", plane_pass<T, 3, false>);
    add(type + ", two dimensions, 4 steps", plane_pass<T, 4, false>);
    add(type + ", two dimensions, 6 steps", plane_pass<T, 6, false>);
    add(type + ", two dimensions, 4 steps, star without its centre", plane_pass<T, 4, true>);
  };
  lengths("f16", Half{});
  lengths("f32", 0.0F);
  lengths("f64", 0.0);
  add("f32, two dimensions, 8 steps", plane_pass<float, 8, false>);
}

}  // namespace tessera::inline v1::stencil
