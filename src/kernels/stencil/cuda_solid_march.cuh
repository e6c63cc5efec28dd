#pragma once
// Several steps per pass in three dimensions: a block walks along z with a tile of x and y
// (2.5-dimensional blocking, Nguyen et al. 2010), whose rows are as wide as a warp. Per level, a
// thread keeps its part of the last plane and the first product of the next sum in registers.
// Shared memory holds the planes being loaded and, of the levels' last planes, the first and the
// last row of every warp. A level lags one plane behind the previous one: an arriving plane
// contributes only the last product of every level's sum, so the sums of all levels are independent
// of each other and one barrier per plane suffices.

#include "kernels/cuda_async.cuh"
#include "kernels/stencil/cuda_packed.cuh"
#include "kernels/stencil/cuda_solid_marks.cuh"
#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::inline v1::stencil {

/// Warps of a block, stacked along y, and rows per thread, as many as registers hold. On an H200
/// fewer warps with more rows were faster, except for two and three steps in f64.
template <class T, int steps>
struct SolidShape {
  static constexpr bool few = steps == 4 || (steps == 3 && sizeof(T) == 4);
  static constexpr int length = vector_length<T>;
  static constexpr int warps = few ? 8 : 12, rows = !few ? 4 : steps == 4 ? 5 : 6;
};
/// Vectors of halves have the length of those of f32: tiles twice as wide would cover 512 points
/// with three.
template <int steps>
struct SolidShape<Half, steps> {
  static constexpr int length = 4, warps = 8, rows = steps == 2 ? 9 : steps == 3 ? 7 : 5;
};

/// Shared memory available to a pass per multiprocessor, in bytes (compute capability 9.0).
constexpr int most_shared_bytes = 227 * 1024;
extern __shared__ unsigned char shared_planes[];

/// Returns the plane to read for plane i of a walk, which may be one beyond the field; values
/// farther out are never used.
[[nodiscard]] __device__ __forceinline__ int plane_to_read(const Axis& axis, int i) {
  const int begin = static_cast<int>(axis.begin), end = static_cast<int>(axis.end);
  if (i >= begin && i < end) return i;
  if (axis.wrapped) return static_cast<int>(turned(axis, i));
  const int low = !axis.edge[0]     ? begin
                  : axis.fixed(0)   ? begin - 1
                  : axis.mirrors(0) ? begin + 1
                                    : begin;
  const int high = !axis.edge[1]     ? end - 1
                   : axis.fixed(1)   ? end
                   : axis.mirrors(1) ? end - 2
                                     : end - 1;
  return i < begin ? low : high;
}

/// Returns the row or element to read for index i of a tile; values beyond an end that does not
/// wrap are never used.
[[nodiscard]] __device__ __forceinline__ int place_to_read(const Axis& axis, int i) {
  if (axis.wrapped) return static_cast<int>(turned(axis, i));
  return max(static_cast<int>(axis.begin), min(i, static_cast<int>(axis.end) - 1));
}

/// Returns the same for `length` contiguous elements from x on.
template <int length>
[[nodiscard]] __device__ __forceinline__ int vector_to_read(const Axis& axis, int x) {
  if (axis.wrapped) return static_cast<int>(turned(axis, x));
  const int first = static_cast<int>(axis.begin) & -length,
            last = static_cast<int>(axis.end - 1) & -length;
  return max(first, min(x, last));
}

/// The walk of a block along z. `edges`: its tile reaches an end of the rows or columns; `general`:
/// some side of the field is constant, or rows or columns may end within those of a thread.
template <class T, int steps, bool hollow, bool general, bool edges>
struct SolidMarch {
  using Shape = SolidShape<T, steps>;
  static constexpr int length = Shape::length, rows = Shape::rows, height = rows * Shape::warps;
  using A = Arithmetic<T>;
  using V = Packed<T, length>;
  using Wide = Vector<A, length>;
  using Rows = V[rows];
  using WideRows = Wide[rows];
  using Plane = V[height][32];
  /// Planes prefetched during the computation of one: for long passes as many as fit.
  static constexpr int ends_rows = (steps - 1) * 2 * Shape::warps * 2,
                       mirrored_rows = (steps - 1) * height;
  static constexpr int row_bytes = 32 * static_cast<int>(sizeof(V));
  static constexpr int room =
      (most_shared_bytes / row_bytes - ends_rows - mirrored_rows) / height - 2;
  static constexpr bool half = std::is_same_v<T, Half>;
  static constexpr int ahead = steps == 2 && !half ? 1 : room < 4 ? room : 4, slots = ahead + 2;
  /// Copies are faster during the sums of a plane than before them, if registers permit.
  static constexpr bool fetches_first = !half;
  static_assert(room > 0);
  struct Shared {
    Plane loaded[slots];  ///< of the first level: the last one, the current one, those being loaded
    V ends[steps - 1][2][Shape::warps][2][32];  ///< of the other levels' last and current planes
    Plane mirrored[steps - 1];  ///< of those levels: the mirrored plane beyond the field
  };
  const Pass<T>& p;
  const Axis& walked;
  int low, high;  ///< the range of planes to store
  int z;          ///< the current plane of the first level
  int slot = 0;   ///< its position among the loaded planes
  int x, y0;      ///< x of the thread's vectors, y of its first row
  int lane, warp;
  Marks marks;
  Shared& shared;
  WideRows plane[steps];    ///< by level: the last plane
  WideRows product[steps];  ///< by level: the plane before it times the first weight

  __device__ SolidMarch(const Pass<T>& pass, int x0, int tile_y, int first, const KeptSolid& kept)
      : p(pass),
        walked(pass.axis[0]),
        low(kept.low),
        high(kept.high),
        z(first),
        x(x0 + static_cast<int>(threadIdx.x) * length),
        y0(tile_y + static_cast<int>(threadIdx.y) * rows),
        lane(static_cast<int>(threadIdx.x)),
        warp(static_cast<int>(threadIdx.y)),
        marks(p.axis[1], y0, rows, p.axis[2], x, length, kept),
        shared(*reinterpret_cast<Shared*>(shared_planes)),
        plane{},
        product{} {
    for (int i = 0; i < ahead; ++i) {
      fetch(i, plane_to_read(walked, z + i));
      kernels::end_group();
    }
  }
  /// Returns the slot before `slot`.
  __device__ __forceinline__ static int before(int slot) { return slot > 0 ? slot - 1 : slots - 1; }

  __device__ __forceinline__ const T* row_at(int plane_read, int y) const {
    return p.in + plane_read * p.stride[0] + y * p.stride[1];
  }
  /// Copies a plane to a slot of the loaded ones.
  __device__ __forceinline__ void fetch(int to_slot, int plane_read) const {
    if (edges && !marks.reads_adjacent()) return fetch_apart(to_slot, plane_read);
    const T* from = row_at(plane_read, y0) + x;
#pragma unroll
    for (int j = 0; j < rows; ++j) fetch_row(to_slot, j, from + j * p.stride[1]);
  }
  /// Prefetches the plane `ahead` planes after the current one.
  __device__ __forceinline__ void fetch_coming() const {
    if (z + ahead < high + steps) fetch(before(before(slot)), plane_to_read(walked, z + ahead));
    kernels::end_group();
  }
  __device__ __forceinline__ void fetch_row(int to_slot, int j, const T* from) const {
    V& to = shared.loaded[to_slot][warp * rows + j][lane];
    kernels::copy_async_staying<sizeof(V)>(kernels::shared_address(&to), from,
                                           kernels::reads_stay());
  }
  /// Copies rows or elements that wrap to the field's other end, or that are never used.
  __device__ __forceinline__ void fetch_apart(int to_slot, int plane_read) const {
#pragma unroll 1
    for (int j = 0; j < rows; ++j) {
      const T* row = row_at(plane_read, place_to_read(p.axis[1], y0 + j));
      if constexpr (half) {
        if (marks.reads_vectors()) {
          fetch_row(to_slot, j, row + vector_to_read<length>(p.axis[2], x));
          continue;
        }
      }
      fetch_elements(shared.loaded[to_slot][warp * rows + j][lane], row);
    }
  }
  __device__ __forceinline__ void fetch_elements(V& to, const T* row) const {
    const auto from = [&](int e) { return row + place_to_read(p.axis[2], x + e); };
    if constexpr (half) {  // too few bytes for asynchronous copies
      to = pairs_of<length>([&](int e) { return load_once(from(e)); });
    } else {
#pragma unroll
      for (int e = 0; e < length; ++e)
        kernels::copy_async<sizeof(T)>(kernels::shared_address(to.at + e), from(e));
    }
  }

  /// The rows above and below the thread's in a level's last plane.
  struct Around {
    V above, below;
  };
  __device__ __forceinline__ Around around(int level) const {
    const int up = warp > 0 ? warp - 1 : 0, down = warp + 1 < Shape::warps ? warp + 1 : warp;
    if (level == 0) {
      const Plane& last = shared.loaded[before(slot)];
      return {last[up * rows + rows - 1][lane], last[down * rows][lane]};
    }
    const auto& ends = shared.ends[level - 1][(z & 1) ^ 1];
    return {ends[up][1][lane], ends[down][0][lane]};
  }
  __device__ __forceinline__ static Wide all(A value) {
    Wide v;
#pragma unroll
    for (int e = 0; e < length; ++e) v.at[e] = value;
    return v;
  }
  /// Replaces the neighbours of row j, `above` and `below`, at the ends of the field.
  __device__ __forceinline__ void end_rows(int j, const Wide& c, Wide& above, Wide& below) const {
    const Axis& across = p.axis[1];
    const auto ghost = [&](int side, const Wide& mirrored) {
      const Wide v = chosen(across.mirrors(side), mirrored, c);
      return general ? chosen(across.constant(side), all(p.value[1][side]), v) : v;
    };
    if (j == 0) above = chosen(marks.begins_rows(), ghost(0, below), above);
    if (general || j == rows - 1) below = chosen(j == marks.ends_rows(), ghost(1, above), below);
  }
  /// Adds the products within a level's last plane, which completes its own part of the sum.
  __device__ __forceinline__ void add_within(int level, const Around& around, WideRows& sum) {
    const WideRows& c = plane[level];
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      Wide above = j > 0 ? c[j > 0 ? j - 1 : 0] : unpacked(around.above);
      Wide below = j + 1 < rows ? c[j + 1 < rows ? j + 1 : 0] : unpacked(around.below);
      if constexpr (edges) end_rows(j, c[j], above, below);
      Wide s = product[level][j];
      add_product(p.weight[1], above, s);
      add_along(c[j], s);
      add_product(p.weight[5], below, s);
      sum[j] = s;
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) product[level][j] = times(p.weight[0], c[j]);
  }
  /// Adds to sum the products with row c of a level's last plane and with its neighbours along the
  /// row.
  __device__ __forceinline__ void add_along(const Wide& c, Wide& sum) const {
    A left[length], right[length];
    left[0] = __shfl_up_sync(0xffffffffu, c.at[length - 1], 1);
#pragma unroll
    for (int e = 0; e + 1 < length; ++e) {
      left[e + 1] = c.at[e];
      right[e] = c.at[e + 1];
    }
    right[length - 1] = __shfl_down_sync(0xffffffffu, c.at[0], 1);
    if constexpr (edges) end_columns(c, left, right);
#pragma unroll
    for (int e = 0; e < length; ++e) {
      sum.at[e] = fma(p.weight[2], left[e], sum.at[e]);
      if constexpr (!hollow) sum.at[e] = fma(p.weight[3], c.at[e], sum.at[e]);
      sum.at[e] = fma(p.weight[4], right[e], sum.at[e]);
    }
  }
  /// Replaces the neighbours of the elements of row c at the ends of the field.
  __device__ __forceinline__ void end_columns(const Wide& c, A (&left)[length],
                                              A (&right)[length]) const {
    const Axis& along = p.axis[2];
    const auto ghost = [&](int side, A mirrored, A own) {
      const A value = along.mirrors(side) ? mirrored : own;
      return general && along.constant(side) ? p.value[2][side] : value;
    };
    left[0] = marks.begins_row() ? ghost(0, right[0], c.at[0]) : left[0];
#pragma unroll
    for (int e = general ? 0 : length - 1; e < length; ++e) {
      const A beyond = ghost(1, left[e], c.at[e]);
      right[e] = e == marks.ends_row() ? beyond : right[e];
    }
  }
  __device__ __forceinline__ void keep(const Rows& c) const {
    if (z - steps < low) return;
    T* to = p.out + (z - steps) * p.stride[0] + y0 * p.stride[1] + x;
#pragma unroll
    for (int j = 0; j < rows; ++j, to += p.stride[1]) {
      if (!marks.keeps_row(j)) continue;
      if (marks.keeps_all(length)) {
        *reinterpret_cast<V*>(to) = c[j];
      } else {
#pragma unroll
        for (int e = 0; e < length; ++e) {
          if (marks.keeps_element(e)) to[e] = element(c[j], e);
        }
      }
    }
  }

  /// Adds the boundary values before the field's first plane and after its last one to the sum of a
  /// level after the first, whose current plane is c.
  __device__ __forceinline__ void end_sum(int level, Rows& c) {
    const int at = z - level - 1;  // index of the last plane
    Plane& mirrored = shared.mirrored[level - 1];
    if (walked.edge[0] && at == walked.begin) {
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        Wide before = chosen(walked.mirrors(0), unpacked(c[j]), plane[level][j]);
        if (general && walked.constant(0)) before = all(p.value[0][0]);
        product[level][j] = times(p.weight[0], before);
      }
    }
    if (!walked.edge[1]) return;
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      V& kept_row = mirrored[warp * rows + j][lane];
      if (walked.mirrors(1) && at == walked.end - 2) kept_row = packed<T>(plane[level][j]);
      if (at != walked.end - 1) continue;
      c[j] = chosen(walked.mirrors(1), kept_row, packed<T>(plane[level][j]));
      if (general && walked.constant(1)) c[j] = packed<T>(all(p.value[0][1]));
    }
  }
  /// Adds plane c, the current one of a level, to the sum of its last plane, which becomes the next
  /// level's current plane.
  template <bool ends>
  __device__ __forceinline__ void advance(int level, const Around& around, Rows& c) {
    if (ends && level > 0) end_sum(level, c);
    WideRows sum;
    add_within(level, around, sum);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      plane[level][j] = unpacked(c[j]);
      add_product(p.weight[6], plane[level][j], sum[j]);
      c[j] = packed<T>(sum[j]);
    }
    if (level + 1 == steps) return;
    auto& to = shared.ends[level < steps - 1 ? level : 0][z & 1][warp];
    to[0][lane] = c[0];
    to[1][lane] = c[rows - 1];
  }
  /// Walks to plane `end`. ends: the first or the last plane of the field may be among the planes
  /// of a level.
  template <bool ends>
  __device__ __forceinline__ void planes(int end) {
#pragma unroll 1
    for (; z < end; ++z) {
      if constexpr (fetches_first) fetch_coming();
      kernels::wait_for_groups<fetches_first ? ahead : ahead - 1>();
      Around near[steps];  // first, to hide the latency
#pragma unroll
      for (int level = 0; level < steps; ++level) near[level] = around(level);
      Rows c;
#pragma unroll
      for (int j = 0; j < rows; ++j) c[j] = shared.loaded[slot][warp * rows + j][lane];
#pragma unroll
      for (int level = 0; level < steps; ++level) {
        advance<ends>(level, near[level], c);
        if (!fetches_first && level == 0) fetch_coming();
      }
      keep(c);
      slot = slot + 1 < slots ? slot + 1 : 0;
      __syncthreads();
    }
  }
  /// Walks all planes of the chunk.
  __device__ __forceinline__ void run() {
    walk(
        walked, steps, high, z, [&](int end, bool) { planes<true>(end); }, [] {},
        [&](int end) { planes<false>(end); });
  }
};

}  // namespace tessera::inline v1::stencil
