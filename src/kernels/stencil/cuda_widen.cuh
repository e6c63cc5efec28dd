#pragma once
// Functions shared by the single-step kernels without ghosts: positions of the points around a
// region, and rows widened by the elements of adjacent lanes.

#include <algorithm>

#include "kernels/stencil/cuda_device.cuh"

namespace tessera::inline v1::stencil {

/// One dimension of a region: its points [low, high), and the positions of the values of the
/// surrounding ones.
struct Around {
  int low, high;
  int below[largest_square], above[largest_square];  ///< positions of low - 1 - k and high + k
  bool fixed[2];                                     ///< that side has independent ghosts

  /// Returns the position of index i; an arbitrary one beyond the reach of the stencil.
  [[nodiscard]] __device__ __forceinline__ int place(int i) const {
    if (i < low) return below[min(low - 1 - i, largest_square - 1)];
    if (i >= high) return above[min(i - high, largest_square - 1)];
    return i;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_fixed(int i) const {
    return (i < low && fixed[0]) || (i >= high && fixed[1]);
  }
};

template <class T>
[[nodiscard]] Around around_of(const DeviceSweep<T>& s, const Region& region, int d) {
  const Line& line = s.line[d];
  const auto place = [&](index_t i) {
    return narrow<int>(line.inside(i) || line.fixed(line.side(i)) ? i : line.source(i));
  };
  Around around{narrow<int>(region.low[d]), narrow<int>(region.high[d]), {}, {}, {}};
  for (const int side : {0, 1}) {
    const index_t outside = side == 0 ? region.low[d] - 1 : region.high[d];
    around.fixed[side] = !line.inside(outside) && line.fixed(side);
  }
  for (index_t k = 0; k < largest_square; ++k) {
    const index_t reach = std::min(k, s.radius[d] - 1);
    around.below[k] = place(region.low[d] - 1 - reach);
    around.above[k] = place(region.high[d] + reach);
  }
  return around;
}

template <class T>
[[nodiscard]] index_t aligned_below(index_t x) {
  constexpr index_t length = vector_length<T>;
  return x - ((x % length) + length) % length;
}

/// Halo lanes at either end of a warp: others read them, they write nothing.
template <class T, int radius>
constexpr int helping_lanes = (radius + vector_length<T> - 1) / vector_length<T>;

/// Extends a lane's vector of a row by `radius` elements of its neighbours on either side.
template <int radius, class T, int length>
__device__ __forceinline__ void widen(const Vector<T, length>& v, T (&wide)[length + 2 * radius]) {
  constexpr unsigned everyone = ~0U;
#pragma unroll
  for (int i = 0; i < length; ++i) wide[radius + i] = v.at[i];
#pragma unroll
  for (int k = 1; k <= radius; ++k) {
    const int away = (k + length - 1) / length;  // lanes
    wide[radius - k] =
        __shfl_up_sync(everyone, v.at[away * length - k], static_cast<unsigned>(away));
    wide[radius + length - 1 + k] =
        __shfl_down_sync(everyone, v.at[k - 1 - (away - 1) * length], static_cast<unsigned>(away));
  }
}

/// Stores the elements of v whose x is in [low, high).
template <class T>
__device__ __forceinline__ void store_part(T* to, int x, int low, int high, const Vector<T>& v) {
  constexpr int length = vector_length<T>;
  if (x >= low && x + length <= high) {
    store_vectors(to, v);
  } else {
#pragma unroll
    for (int e = 0; e < length; ++e) {
      if (x + e >= low && x + e < high) to[e] = v.at[e];
    }
  }
}

}  // namespace tessera::inline v1::stencil
