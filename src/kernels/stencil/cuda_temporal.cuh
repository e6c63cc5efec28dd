#pragma once
// Passes of several steps of a star of radius 1 (possibly without its middle), walked along the
// slowest dimension: functions shared by the kernels for two and three dimensions, and the lanes of
// the former. A new row of one level completes the previous one of the next level, so all levels of
// a pass stay in registers, two values per point: the last row and the partial sum of the next one.

#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/cuda_passes.hpp"

namespace tessera::inline v1::stencil {

/// A pass from level `in` to `out`; `walked` begins a tile's rows or planes, tiles.span of them.
template <class T>
struct Pass {
  const T* in;
  T* out;
  Index3 stride;
  Axis axis[3];
  Tiles tiles[3];
  Tiles end_rows;  ///< in two dimensions: tiles[1] of the tiles at the ends of rows, which take
                   ///< longer
  Arithmetic<T> weight[7];    ///< of the star, in its dimensions
  Arithmetic<T> value[3][2];  ///< of constant sides
};

/// Returns the pass with all weights and positions; the caller sets the tiles.
template <class T>
[[nodiscard]] Pass<T> pass_of(const DeviceSweep<T>& s, int from, index_t done, index_t steps) {
  Pass<T> pass{s.level[from], s.level[1 - from], s.stride, {}, {}, {}, {}, {}};
  for (int d = 0; d < 3; ++d) {
    pass.axis[d] = axis_of(s, d, done, steps);
    for (const int side : {0, 1})
      pass.value[d][side] = static_cast<Arithmetic<T>>(static_cast<T>(s.line[d].value[side]));
  }
  for (int k = 0; k < 7; ++k) pass.weight[k] = s.weight[k];
  return pass;
}

/// Returns `chunks` chunks of the walked axis, including the halo of the pass beyond their ends.
[[nodiscard]] inline Tiles chunks_of(const Axis& axis, index_t steps, index_t chunks) {
  const index_t size = axis.out_end - axis.out_begin;
  const index_t kept = ceil_div(size, chunks > 0 ? chunks : 1);
  return {axis.out_begin - steps, kept,           kept + 2 * steps, steps,
          ceil_div(size, kept),   axis.out_begin, axis.out_end};
}

/// Returns the number of chunks that, with `others` tiles, fill the device once, such that no chunk
/// is mostly halo.
[[nodiscard]] inline index_t chunks_to_fill(const Axis& axis, index_t steps, index_t others,
                                            index_t resident, index_t march) {
  const index_t size = axis.out_end - axis.out_begin;
  if (march > 0) return ceil_div(size, march);
  const index_t shortest = 4 * steps;
  const index_t most = size / shortest, wanted = resident / (others > 0 ? others : 1);
  return wanted < 1 || most < 1 ? 1 : wanted < most ? wanted : most;
}

/// Returns the number of resident blocks of a kernel on the device.
template <class Kernel>
[[nodiscard]] index_t resident_blocks(Kernel kernel, int threads, std::size_t shared) {
  namespace cuda = machine::cuda;
  int blocks = 0;
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return index_t{blocks} * cuda::attribute(cudaDevAttrMultiProcessorCount);
}

/// Returns the index in [begin, end) of one that may be beyond an axis that wraps, by few additions
/// instead of a division.
__device__ __forceinline__ index_t turned(const Axis& axis, index_t i) {
  const index_t n = axis.end - axis.begin;
  while (i < axis.begin) i += n;
  while (i >= axis.end) i -= n;
  return i;
}

/// The sequence of rows or planes that a walk loads: after the last of an axis follows the first
/// one if it wraps, otherwise the last again, which is never used.
struct Cursor {
  int at, last, restart;
  __device__ Cursor(const Axis& axis, int first)
      : at(static_cast<int>(axis.wrapped ? turned(axis, first) : first)),
        last(static_cast<int>(axis.end) - 1),
        restart(static_cast<int>(axis.wrapped ? axis.begin : axis.end - 1)) {}
  __device__ __forceinline__ int next() {
    const int here = at;
    at = here == last ? restart : here + 1;
    return here;
  }
};

/// A lane's vector of a row and the boundary at the row's ends. `edges` in its functions: the
/// warp's vectors reach an end of the axis. Boundary values are chosen by selects, not by branches,
/// so a warp at an end is about as fast as others. No lane holds both ends (takes_passes).
template <int length>
struct Lane {
  index_t x;             ///< x of its first element
  bool at_low = false;   ///< that is the first point of the field
  int high = length;     ///< the element that is the last point
  bool fixed = false;    ///< the lane's side has independent ghosts, at ghost_x
  bool mirrors = false;  ///< the lane's side mirrors
  bool ragged = false;   ///< the last point is not the last element of its lane
  bool wraps = false;    ///< elements are at `offset`, not contiguous
  int offset[length], ghost_x = 0;

  __device__ Lane(const Axis& axis, index_t first) : x(first) {
    at_low = axis.edge[0] && x == axis.begin;
    if (axis.edge[1] && x < axis.end && axis.end - x <= length)
      high = static_cast<int>(axis.end - 1 - x);
    const int side = at_low ? 0 : 1;
    const bool at_end = at_low || high < length;
    fixed = at_end && axis.fixed(side);
    mirrors = at_end && axis.mirrors(side);
    ghost_x = static_cast<int>(at_low ? axis.begin - 1 : axis.end);
    ragged = axis.edge[1] && (axis.end - x) % length != 0;
    wraps = axis.wrapped;
#pragma unroll
    for (int e = 0; e < length; ++e) offset[e] = static_cast<int>(axis.readable(x + e));
  }

  /// Loads the lane's elements, in the storage type, of the row whose x = 0 is at `row`.
  template <bool edges, class T>
  __device__ __forceinline__ Vector<T, length> load(const T* row) const {
    if (edges && wraps) {
      Vector<T, length> v;
#pragma unroll
      for (int e = 0; e < length; ++e) v.at[e] = load_once(row + offset[e]);
      return v;
    }
    return load_vectors<T, length>(row + x);
  }
  /// Returns the fixed neighbour at the lane's end of that row, if any.
  template <class T>
  __device__ __forceinline__ Arithmetic<T> ghost(const T* row) const {
    return fixed ? computed(load_once(row + ghost_x)) : Arithmetic<T>{0};
  }

  /// Adds to sum the products with row c and with its neighbours along the row.
  template <bool edges, bool hollow, class T>
  __device__ __forceinline__ void add_along(const T* w, const Vector<T, length>& c, T ghost,
                                            Vector<T, length>& sum) const {
    T before = __shfl_up_sync(0xffffffffu, c.at[length - 1], 1);
    T right[length];
#pragma unroll
    for (int e = 0; e + 1 < length; ++e) right[e] = c.at[e + 1];
    right[length - 1] = __shfl_down_sync(0xffffffffu, c.at[0], 1);
    if constexpr (edges) {
      const T low = fixed ? ghost : mirrors ? c.at[1] : c.at[0];
      before = at_low ? low : before;
      const T last = fixed ? ghost : mirrors ? c.at[length - 2] : c.at[length - 1];
      right[length - 1] = high == length - 1 ? last : right[length - 1];
      if (ragged) {
#pragma unroll
        for (int e = 0; e + 1 < length; ++e) {
          const T beyond = fixed     ? ghost
                           : mirrors ? (e > 0 ? c.at[e > 0 ? e - 1 : 0] : before)
                                     : c.at[e];
          right[e] = e == high ? beyond : right[e];
        }
      }
    }
#pragma unroll
    for (int e = 0; e < length; ++e) {
      sum.at[e] = fma(w[0], e > 0 ? c.at[e > 0 ? e - 1 : 0] : before, sum.at[e]);
      if constexpr (!hollow) sum.at[e] = fma(w[1], c.at[e], sum.at[e]);
      sum.at[e] = fma(w[2], right[e], sum.at[e]);
    }
  }
};

/// Walks rows or planes from `at` on to the last that level `steps` of [.., high) needs:
/// at_edges(end, multiplied) processes those near the field's first and last one, inner(end) the
/// others, before which multiply() applies the first weight to the last ones kept. Both advance
/// `at`.
template <class AtEdges, class Multiply, class Inner>
__device__ __forceinline__ void walk(const Axis& walked, int steps, int high, const int& at,
                                     const AtEdges& at_edges, const Multiply& multiply,
                                     const Inner& inner) {
  const int stop = high + steps, top = static_cast<int>(walked.begin) + steps + 1,
            bottom = static_cast<int>(walked.end) - 2;
  const int first = walked.edge[0] ? max(at, min(top, stop)) : at;
  const int behind = walked.edge[1] ? max(first, min(bottom, stop)) : stop;
  bool multiplied = false;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const int end = round == 0 ? first : stop;
    if (at < end) at_edges(end, multiplied);
    if (at >= behind) continue;
    multiply();
    multiplied = true;
    inner(behind);
  }
}

/// Converts a vector between its storage type and its arithmetic type.
template <class T, int length>
__device__ __forceinline__ Vector<Arithmetic<T>, length> all_computed(const Vector<T, length>& v) {
  Vector<Arithmetic<T>, length> wide;
#pragma unroll
  for (int e = 0; e < length; ++e) wide.at[e] = computed(v.at[e]);
  return wide;
}
template <class T, int length>
__device__ __forceinline__ Vector<T, length> all_kept(const Vector<Arithmetic<T>, length>& v) {
  Vector<T, length> narrow;
#pragma unroll
  for (int e = 0; e < length; ++e) narrow.at[e] = kept<T>(v.at[e]);
  return narrow;
}

template <class T, int length>
__device__ __forceinline__ Vector<T, length> times(T weight, const Vector<T, length>& v) {
  Vector<T, length> product;
#pragma unroll
  for (int e = 0; e < length; ++e) product.at[e] = weight * v.at[e];
  return product;
}
template <class T, int length>
__device__ __forceinline__ void add_product(T weight, const Vector<T, length>& v,
                                            Vector<T, length>& sum) {
#pragma unroll
  for (int e = 0; e < length; ++e) sum.at[e] = fma(weight, v.at[e], sum.at[e]);
}

/// Stores the elements of v whose x is in [low, high).
template <class T, int length>
__device__ __forceinline__ void put_part(T* row, index_t x, index_t low, index_t high,
                                         Vector<T, length> v) {
  if (x >= low && x + length <= high) {
    store_vectors(row + x, v);
  } else {
#pragma unroll
    for (int e = 0; e < length; ++e) {
      if (x + e >= low && x + e < high) row[x + e] = v.at[e];
    }
  }
}

/// Runs passes over planes and over solids. Precondition: steps is one of the compiled lengths.
template <class T>
constexpr int plane_steps[5] = {2, 3, 4, 6, 8};
template <>
inline constexpr int plane_steps<Half>[4] = {2, 3, 4, 6};
template <>
inline constexpr int plane_steps<double>[4] = {2, 3, 4, 6};
constexpr int solid_steps[] = {2, 3, 4};
template <class T>
void march_plane(const DeviceSweep<T>& s, int from, index_t done, index_t steps,
                 const Tuning& tuning, DeviceStream stream);
template <class T>
void march_solid(const DeviceSweep<T>& s, int from, index_t done, index_t steps,
                 const Tuning& tuning, DeviceStream stream);

/// Returns the shared memory of a block of march_solid, in bytes.
template <class T>
[[nodiscard]] index_t solid_shared_bytes(index_t steps);

}  // namespace tessera::inline v1::stencil
