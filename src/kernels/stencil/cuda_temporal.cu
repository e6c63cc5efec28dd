// Several steps a pass. In two dimensions a warp works alone: its lanes hold vectors side by side and pass
// values along the row by shuffles, so that nobody waits at a barrier (the register rings are those of
// Matsumura et al. 2020; the few big tiles those of Zhang et al. 2023). What cannot be blocked so takes its
// steps singly.

#include <string>

#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::stencil {
namespace {

constexpr int plane_warps = 4;   // of a block; they share nothing
constexpr int plane_length = 4;  // elements of a lane

/// Registers of a thread: two values a level and element, and what else is needed.
template <class T, int steps>
constexpr int plane_blocks() {
  constexpr int registers = 2 * steps * plane_length * static_cast<int>(sizeof(T)) / 4 + 52;
  return registers <= 128 ? 4 : registers <= 168 ? 3 : 2;
}

template <class T, int steps, bool edges>
struct PlaneMarch {
  using V = Vector<T, plane_length>;
  const Pass<T>& p;
  const Axis &along, &walked;
  Lane<plane_length, edges> lane;
  /// By level: the last row (inside: its product with the first weight already) and the sum for it, which
  /// lacks the row to come.
  V last[steps], sum[steps];

  __device__ PlaneMarch(const Pass<T>& pass, index_t x)
      : p(pass), along(pass.axis[2]), walked(pass.axis[1]), lane(pass.axis[2], x), last{}, sum{} {}

  __device__ __forceinline__ V load(index_t y) const {
    return lane.load(p.in + (edges ? walked.readable(y) : y) * p.stride[1]);
  }
  /// A row beyond the field that is fixed.
  __device__ __forceinline__ V ghost_row(index_t y) const { return lane.load(p.in + y * p.stride[1]); }
  __device__ __forceinline__ void add_along(const V& c, index_t y, V& to) const {
    lane.add_along(
        along, p.weight + 1, p.hollow, c,
        [&](index_t x) { return __ldg(p.in + walked.readable(y) * p.stride[1] + x); }, to);
  }

  /// Row y of a level has come; returns row y - 1 of the next.
  __device__ __forceinline__ V advance(int level, index_t y, V c) {
    V& before = last[level];
    V& s = sum[level];
    if constexpr (edges) {
      if (walked.edge[1] && y == walked.end) c = walked.fixed(1) ? ghost_row(y) : before;
      if (walked.mirrors(0) &&
          y == walked.begin + 1) {  // the first row's sum, now that its mirror image is known
        s = times(p.weight[0], c);
        add_along(before, y - 1, s);
      }
      if (walked.edge[0] && y == walked.begin) before = walked.fixed(0) ? ghost_row(y - 1) : c;
    }
    V result = s;
    add_product(p.weight[4], c, result);
    s = edges ? times(p.weight[0], before) : before;
    add_along(c, y, s);
    if constexpr (edges) {
      if (!(walked.mirrors(1) && y == walked.end - 1)) before = c;  // else its own mirror image stays
    } else {
      before = times(p.weight[0], c);
    }
    return result;
  }

  __device__ __forceinline__ void run(index_t chunk, index_t low_x, index_t high_x) {
    const index_t low = p.tiles[1].low(chunk), high = p.tiles[1].high(chunk);
    const index_t first = edges && walked.edge[0] ? max(low - steps, walked.begin) : low - steps;
    V next = load(first), after = load(first + 1);
    for (index_t y = first; y < high + steps; ++y) {
      V c = next;
      next = after;
      after = load(y + 2);
#pragma unroll
      for (int level = 0; level < steps; ++level) c = advance(level, y - level, c);
      if (y - steps >= low) put_part(p.out + (y - steps) * p.stride[1], lane.x, low_x, high_x, c);
    }
  }
};

template <class T, int steps>
__global__ void __launch_bounds__(32 * plane_warps, plane_blocks<T, steps>())
    plane_pass(const __grid_constant__ Pass<T> p) {
  const index_t warp = index_t{blockIdx.x} * plane_warps + threadIdx.y;
  const Tiles &across = p.tiles[2], &down = p.tiles[1];
  const index_t tile = warp % across.count, chunk = warp / across.count;
  if (chunk >= down.count) return;
  const index_t start = across.start(tile), x = start + threadIdx.x * plane_length;
  const bool edges = at_end(p.axis[2], start, start + across.span) ||
                     at_end(p.axis[1], down.low(chunk) - steps, down.high(chunk) + steps);
  if (edges) {
    PlaneMarch<T, steps, true>(p, x).run(chunk, across.low(tile), across.high(tile));
  } else {
    PlaneMarch<T, steps, false>(p, x).run(chunk, across.low(tile), across.high(tile));
  }
}

template <class T, int steps>
void launch_plane(Pass<T> p, const Tuning& tuning, DeviceStream stream) {
  constexpr index_t halo = round_up(steps, plane_length);
  p.tiles[2] = tiles_of(p.axis[2], 32 * plane_length, halo, plane_length);
  const auto kernel = plane_pass<T, steps>;
  const index_t resident = resident_blocks(kernel, 32 * plane_warps, 0) * plane_warps;
  p.tiles[1] =
      chunks_of(p.axis[1], steps, chunks_to_fill(p.axis[1], steps, p.tiles[2].count, resident, tuning.march));
  const index_t warps = checked_mul(p.tiles[1].count, p.tiles[2].count, "a launch");
  kernel<<<narrow<unsigned>(ceil_div(warps, index_t{plane_warps})), dim3(32, plane_warps), 0, stream>>>(p);
}

/// The most steps that a pass takes when nothing else is asked for: the fastest on an H200 at 8192 x 8192 and
/// 512^3.
index_t default_steps(int dims) { return dims == 2 ? 3 : 2; }

template <class T>
bool takes_passes(const DeviceSweep<T>& s) {
  if (s.star != 1 || s.two_levels || s.dims < 2) return false;
  for (int d = 3 - s.dims; d < 3; ++d) {
    if (s.extent[d] < 2) return false;  // both edges of a mirror at one point
  }
  return true;
}

}  // namespace

template <class T>
void march_plane(const DeviceSweep<T>& s, int from, index_t done, index_t steps, const Tuning& tuning,
                 DeviceStream stream) {
  const Pass<T> p = pass_of(s, from, done, steps);
  const auto launch = [&]<int length>() {
    if (steps == length) launch_plane<T, length>(p, tuning, stream);
  };
  launch.template operator()<2>();
  launch.template operator()<3>();
  launch.template operator()<4>();
  if constexpr (sizeof(T) == 4) {
    launch.template operator()<8>();
  } else {
    launch.template operator()<6>();
  }
  check_launch();
}

template <class T>
int cuda_temporal(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  if (!takes_passes(s)) return cuda_streaming(s, tuning, stream);
  const index_t most = tuning.base_steps > 0 ? tuning.base_steps : default_steps(s.dims);
  int level = 0;
  bool ghosts_right = true;
  for (index_t done = 0; done < s.steps;) {
    const index_t left = s.steps - done;
    const index_t steps =
        s.dims == 3 ? next_pass(left, most, solid_steps) : next_pass(left, most, plane_steps<T>);
    if (s.valid(done + steps).empty()) return level;
    if (steps == 1) {
      if (!ghosts_right) fill_ghosts(s, level, stream);
      streaming_step(s, done, level, tuning, stream);
    } else if (s.dims == 3) {
      march_solid(s, level, done, steps, tuning, stream);
    } else {
      march_plane(s, level, done, steps, tuning, stream);
    }
    ghosts_right = steps == 1;
    level = 1 - level;
    done += steps;
  }
  return level;
}

template int cuda_temporal(const DeviceSweep<float>&, const Tuning&, DeviceStream);
template int cuda_temporal(const DeviceSweep<double>&, const Tuning&, DeviceStream);

void add_temporal_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function) {
    to.push_back(machine::device_function("cuda_temporal", of, function, 32 * plane_warps));
  };
  add("f32, two dimensions, 2 steps", plane_pass<float, 2>);
  add("f32, two dimensions, 3 steps", plane_pass<float, 3>);
  add("f32, two dimensions, 4 steps", plane_pass<float, 4>);
  add("f32, two dimensions, 8 steps", plane_pass<float, 8>);
  add("f64, two dimensions, 2 steps", plane_pass<double, 2>);
  add("f64, two dimensions, 3 steps", plane_pass<double, 3>);
  add("f64, two dimensions, 4 steps", plane_pass<double, 4>);
  add("f64, two dimensions, 6 steps", plane_pass<double, 6>);
}

}  // namespace tessera::stencil
