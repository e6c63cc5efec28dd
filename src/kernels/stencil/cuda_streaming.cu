// One step per pass at memory bandwidth: a thread walks across the rows (in three dimensions
// planes) that the stencil spans and keeps a 16-byte vector of each in registers, so every point is
// loaded from memory once. Neighbours along the row and in the middle dimension come from the
// first-level cache, which adjacent warps have just filled. No barriers: warps do not wait for each
// other.

#include <string>

#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/cuda_single.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// One step, or part of one: level `in` to level `out` on the region.
template <class T>
struct March {
  const T* in;
  T* out;
  Region region;
  index_t first_x;  ///< x of the first vector: aligned, at or before the region
  index_t length;   ///< rows or planes that a block walks
  Blocks blocks;
};

/// The traversal of a star, along the slowest dimension, `at_once` rows or planes at a time, whose
/// loads are all in flight together.
template <int dims_, int radius_, bool hollow_, bool previous_>
struct Star {
  static constexpr int dims = dims_, radius = radius_;
  static constexpr bool hollow = hollow_, previous = previous_;
  static constexpr int halo = dims >= 2 ? radius : 0;    // along the walk
  static constexpr int middle = dims == 3 ? radius : 0;  // along y, in three dimensions
  static constexpr int at_once = dims == 1 ? 1 : dims == 2 ? 4 : 2;
  static constexpr int rows = dims == 3 ? 2 : 1;   // rows per thread, along y
  static constexpr int warps = dims == 3 ? 8 : 4;  // stacked along y, otherwise adjacent along x
  static constexpr int walk = dims == 3 ? 0 : 1;   // the dimension of the walk
};

/// The chain of one vector: w[0] * first, then fused products in order.
template <class T, int length>
struct Chain {
  Vector<T, length> sum;
  bool begun = false;  // a constant once the enclosing loops are unrolled

  template <class At>
  __device__ __forceinline__ void add(T weight, const At& at) {
#pragma unroll
    for (int e = 0; e < length; ++e)
      sum.at[e] = begun ? fma(weight, at(e), sum.at[e]) : weight * at(e);
    begun = true;
  }
};

/// The vectors around the rows of a thread, in one plane or row of the walk.
template <class T, class S>
struct Window {
  static constexpr int length = vector_length<T>;
  static constexpr int sides = (S::radius + length - 1) / length;  // vectors on either side of the
                                                                   // row's own
  using V = Vector<T>;
  V of[2 * S::halo + S::at_once][S::rows];

  /// Returns the sum for row j of the `u`-th of the concurrent planes; centre: its row 0.
  __device__ __forceinline__ V sum(const T* w, int u, int j, const T* centre, index_t stride_y,
                                   const V* above, const V* below) const {
    constexpr int first_x = S::halo + S::middle + S::radius, after_x = first_x + S::radius;
    const V(&here)[S::rows] = of[u + S::halo];
    T row[(2 * sides + 1) * length];
#pragma unroll
    for (int side = 0; side < 2 * sides + 1; ++side) {
      const V v =
          side == sides ? here[j] : load_vector(centre + j * stride_y + (side - sides) * length);
#pragma unroll
      for (int e = 0; e < length; ++e) row[side * length + e] = v.at[e];
    }
    Chain<T, length> chain;
    const auto add = [&](T weight, const V& v) {
      chain.add(weight, [&](int e) { return v.at[e]; });
    };
#pragma unroll
    for (int k = 0; k < S::halo; ++k) add(w[k], of[u + k][j]);
#pragma unroll
    for (int k = -S::middle; k < 0; ++k)
      add(w[S::halo + S::middle + k],
          j + k < 0 ? above[S::middle + j + k] : here[j + k < 0 ? 0 : j + k]);
#pragma unroll
    for (int k = -S::radius; k <= S::radius; ++k) {
      if (S::hollow && k == 0) continue;
      chain.add(w[first_x + k], [&](int e) { return row[sides * length + e + k]; });
    }
#pragma unroll
    for (int k = 1; k <= S::middle; ++k)
      add(w[after_x + k],
          j + k < S::rows ? here[j + k < S::rows ? j + k : 0] : below[j + k - S::rows]);
#pragma unroll
    for (int k = 1; k <= S::halo; ++k) add(w[after_x + S::middle + k], of[u + S::halo + k][j]);
    return chain.sum;
  }

  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int k = 0; k < 2 * S::halo; ++k) {
#pragma unroll
      for (int j = 0; j < S::rows; ++j) of[k][j] = of[k + S::at_once][j];
    }
  }
};

template <class T, class S>
__global__ void __launch_bounds__(32 * S::warps)
    star_sweep(const __grid_constant__ DeviceSweep<T> s, const __grid_constant__ March<T> m) {
  constexpr int length = vector_length<T>;
  using V = Vector<T>;
  const uint3 block = block_place(m.blocks);
  const unsigned warp = threadIdx.y, lane = threadIdx.x;
  const index_t vectors =
      S::dims == 3 ? index_t{block.x} * 32 : (index_t{block.x} * S::warps + warp) * 32;
  const index_t x = m.first_x + (vectors + lane) * length;
  const index_t y =
      S::dims == 3 ? m.region.low[1] + (index_t{block.y} * S::warps + warp) * S::rows : 0;
  if (x >= m.region.high[2] || (S::dims == 3 && y >= m.region.high[1])) return;
  const index_t stride = s.stride[S::walk], stride_y = s.stride[1];
  const index_t begin = m.region.low[S::walk] + index_t{S::dims == 3   ? block.z
                                                        : S::dims == 2 ? block.y
                                                                       : 0} *
                                                    m.length;
  const index_t end = min(begin + m.length, m.region.high[S::walk]);
  const T* in = m.in + (S::dims == 3 ? y * stride_y : 0) + x;
  const auto plane_at = [&](index_t l) {
    return in + min(l, m.region.high[S::walk] - 1 + S::halo) * stride;
  };
  const bool plain_rows = s.line[2].plain(x) && s.line[2].plain(x + length - 1) &&
                          (S::dims < 3 || (s.line[1].plain(y) && s.line[1].plain(y + S::rows - 1)));

  Window<T, S> window;
#pragma unroll
  for (int k = 0; k < 2 * S::halo; ++k) {
    const T* from = plane_at(begin - S::halo + k);
#pragma unroll
    for (int j = 0; j < S::rows; ++j) window.of[k][j] = load_vector(from + j * stride_y);
  }
  for (index_t l = begin; l < end; l += S::at_once) {
#pragma unroll
    for (int u = 0; u < S::at_once; ++u) {
      const T* from = plane_at(l + u + S::halo);
#pragma unroll
      for (int j = 0; j < S::rows; ++j)
        window.of[2 * S::halo + u][j] = load_vector(from + j * stride_y);
    }
#pragma unroll
    for (int u = 0; u < S::at_once; ++u) {
      if (l + u >= end) continue;
      const T* centre = plane_at(l + u);
      V above[S::middle + 1], below[S::middle + 1];
#pragma unroll
      for (int k = 0; k < S::middle; ++k) {
        above[k] = load_vector(centre + (k - S::middle) * stride_y);
        below[k] = load_vector(centre + (S::rows + k) * stride_y);
      }
      const bool plain = plain_rows && s.line[S::walk].plain(l + u);
#pragma unroll
      for (int j = 0; j < S::rows; ++j) {
        if (S::dims == 3 && y + j >= m.region.high[1]) continue;
        V sum = window.sum(s.weight, u, j, centre, stride_y, above, below);
        const index_t row_z = S::dims == 3 ? l + u : 0, row_y = S::dims == 3 ? y + j : l + u;
        if constexpr (S::previous) {
          const T* past = m.out + row_z * s.stride[0] + row_y * stride_y + x;
          const V before = *reinterpret_cast<const V*>(past);
#pragma unroll
          for (int e = 0; e < length; ++e) sum.at[e] = fma(s.previous, before.at[e], sum.at[e]);
        }
        put_vector(s, m.out, row_z, row_y, x, m.region.low[2], m.region.high[2], plain, sum);
      }
    }
    window.advance();
  }
}

constexpr int any_rows = 4;  // rows per thread, along y

/// Sweeps arbitrary taps: the sums of some rows of a thread stay in registers, with the loop over
/// the taps inside.
template <class T>
__global__ void __launch_bounds__(128)
    any_sweep(const __grid_constant__ DeviceSweep<T> s, const __grid_constant__ March<T> m) {
  const uint3 block = block_place(m.blocks);
  const index_t x = m.region.low[2] + index_t{block.x} * 128 + threadIdx.x;
  const index_t y = m.region.low[1] + index_t{block.y} * any_rows, z = m.region.low[0] + block.z;
  if (x >= m.region.high[2]) return;
  const T* row[any_rows];
#pragma unroll
  for (int u = 0; u < any_rows; ++u)
    row[u] = m.in + z * s.stride[0] + min(y + u, m.region.high[1] - 1) * s.stride[1] + x;
  Arithmetic<T> sum[any_rows];
  for (index_t k = 0; k < s.taps; ++k) {
    const Arithmetic<T> weight = __ldg(s.tap_weight + k);
    const Index3 o = s.tap_place[k];
    const index_t away = o[0] * s.stride[0] + o[1] * s.stride[1] + o[2];
#pragma unroll
    for (int u = 0; u < any_rows; ++u) {
      const Arithmetic<T> value = computed(load_once(row[u] + away));
      sum[u] = k == 0 ? weight * value : fma(weight, value, sum[u]);
    }
  }
#pragma unroll
  for (int u = 0; u < any_rows; ++u) {
    if (y + u >= m.region.high[1]) continue;
    const T* past = m.out + z * s.stride[0] + (y + u) * s.stride[1] + x;
    put(s, m.out, z, y + u, x, finished(s, sum[u], past));
  }
}

/// Default number of rows or planes that a block walks, if no faster kernel covers the step.
constexpr index_t default_march = 8;

template <class T>
index_t aligned_below(index_t x) {
  constexpr index_t length = vector_length<T>;
  return (x >= 0 ? x : x - (length - 1)) / length * length;
}

template <class S, class T>
void launch_star(const DeviceSweep<T>& s, March<T> m, DeviceStream stream) {
  constexpr index_t across = 32 * vector_length<T>;
  Region whole = m.region;
  whole.low[2] = m.first_x;
  const Index3 block = S::dims == 3 ? Index3{{m.length, S::warps * S::rows, across}}
                                    : Index3{{1, S::dims == 2 ? m.length : 1, S::warps * across}};
  m.blocks = blocks_of(whole, block);
  star_sweep<T, S><<<m.blocks.count(), dim3(32, S::warps), 0, stream>>>(s, m);
}

template <int dims, class T>
bool launch_star_of(const DeviceSweep<T>& s, const March<T>& m, DeviceStream stream) {
  if (s.two_levels) {
    if (s.star != 1 || s.hollow) return false;
    launch_star<Star<dims, 1, false, true>>(s, m, stream);
    return true;
  }
  if (s.hollow) {
    if (s.star != 1) return false;
    launch_star<Star<dims, 1, true, false>>(s, m, stream);
    return true;
  }
  if (s.star == 1) launch_star<Star<dims, 1, false, false>>(s, m, stream);
  if (s.star == 2) launch_star<Star<dims, 2, false, false>>(s, m, stream);
  if (s.star == 3) launch_star<Star<dims, 3, false, false>>(s, m, stream);
  if (s.star == 4) launch_star<Star<dims, 4, false, false>>(s, m, stream);
  return true;
}

/// 16-bit numbers have separate kernels in the plane, and for stars of radius 1 in solids.
template <class T>
constexpr bool has_stars = !std::is_same_v<T, Half>;

template <class T>
bool launch_star_if_one(const DeviceSweep<T>& s, const March<T>& m, DeviceStream stream) {
  if (s.star == 0) return false;
  if (s.dims == 1) return launch_star_of<1>(s, m, stream);
  return s.dims == 2 ? launch_star_of<2>(s, m, stream) : launch_star_of<3>(s, m, stream);
}

}  // namespace

template <class T>
void streaming_step(const DeviceSweep<T>& s, index_t step, int from, const Tuning& tuning,
                    DeviceStream stream) {
  March<T> m{s.level[from], s.level[1 - from], s.valid(step + 1), 0, default_march, {}};
  if (m.region.empty()) return;
  if (steps_plane(s)) return plane_step(s, m.in, m.out, m.region, stream);
  bool launched = false;
  if (steps_solid(s)) return solid_step(s, m.in, m.out, m.region, tuning.march, stream);
  if constexpr (has_stars<T>) {
    if (steps_far(s)) return far_step(s, m.in, m.out, m.region, tuning.march, stream);
    m.first_x = aligned_below<T>(m.region.low[2]);
    if (tuning.march > 0) m.length = tuning.march;
    launched = launch_star_if_one(s, m, stream);
  }
  if (!launched) {
    m.blocks = blocks_of(m.region, {{1, any_rows, 128}});
    any_sweep<<<m.blocks.count(), 128, 0, stream>>>(s, m);
  }
  check_launch();
}

template <class T>
int cuda_streaming(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  for (index_t step = 0; step < s.steps; ++step)
    streaming_step(s, step, static_cast<int>(step % 2), tuning, stream);
  return static_cast<int>(s.steps % 2);
}

template <class T>
Passes streaming_passes(const DeviceSweep<T>& s, const Tuning&) {
  bool reads_ghosts = !steps_plane(s) && !steps_solid(s);
  if constexpr (has_stars<T>) reads_ghosts = reads_ghosts && !steps_far(s);
  return {s.steps, reads_ghosts};
}

template void streaming_step(const DeviceSweep<Half>&, index_t, int, const Tuning&, DeviceStream);
template void streaming_step(const DeviceSweep<float>&, index_t, int, const Tuning&, DeviceStream);
template void streaming_step(const DeviceSweep<double>&, index_t, int, const Tuning&, DeviceStream);
template int cuda_streaming(const DeviceSweep<Half>&, const Tuning&, DeviceStream);
template int cuda_streaming(const DeviceSweep<float>&, const Tuning&, DeviceStream);
template int cuda_streaming(const DeviceSweep<double>&, const Tuning&, DeviceStream);
template Passes streaming_passes(const DeviceSweep<Half>&, const Tuning&);
template Passes streaming_passes(const DeviceSweep<float>&, const Tuning&);
template Passes streaming_passes(const DeviceSweep<double>&, const Tuning&);

void add_streaming_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function, int threads) {
    to.push_back(machine::device_function("cuda_streaming", of, function, threads));
  };
  const auto star = [&]<class S, class T>(const std::string& of, S, T) {
    add(of, star_sweep<T, S>, 32 * S::warps);
  };
  const auto of_type = [&]<class T>(const std::string& type, T zero) {
    star(type + ", star in one dimension", Star<1, 1, false, false>{}, zero);
    star(type + ", star in two dimensions", Star<2, 1, false, false>{}, zero);
    star(type + ", star of radius 4 in two dimensions", Star<2, 4, false, false>{}, zero);
    star(type + ", star of two time levels in two dimensions", Star<2, 1, false, true>{}, zero);
    star(type + ", star in three dimensions", Star<3, 1, false, false>{}, zero);
    star(type + ", star of radius 4 in three dimensions", Star<3, 4, false, false>{}, zero);
    add(type + ", any", any_sweep<T>, 128);
  };
  of_type("f32", 0.0F);
  of_type("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
