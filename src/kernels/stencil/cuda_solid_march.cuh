#pragma once
// Several steps a pass in three dimensions: a block walks along z with a tile of x and y (2.5-dimensional
// blocking, Nguyen et al. 2010). The last planes of all levels lie in shared memory, a row of a tile as wide
// as a warp; what a thread keeps is, by level, the first product of the next sum. A level lags one plane
// behind the one before: when a plane comes, all that it completes is the last product of every level's sum,
// so that the sums of all levels are independent of each other and one barrier a plane is enough.

#include "kernels/cuda_async.cuh"
#include "kernels/stencil/cuda_temporal.cuh"

namespace tessera::stencil {

/// Warps of a block, one above the other along y, and rows of a thread.
template <class T, int steps>
struct SolidShape {
  static constexpr int warps = 12, rows = 4;
};

extern __shared__ unsigned char shared_planes[];

/// What a block keeps of its tile: planes [low, high), rows and points.
struct KeptSolid {
  int low, high, low_y, high_y, low_x, high_x;
};

constexpr int nowhere = -1;

/// What a tile does at one side of its rows or columns: where in the tile the points beyond the field lie,
/// and which points they repeat if they do.
struct SideOfTile {
  int to = nowhere, from = nowhere;
  bool given = false;  ///< values of their own
  /// first: where the tile begins; size: of the tile.
  __device__ SideOfTile(const Axis& axis, int side, int first, int size) {
    if (!axis.edge[side]) return;
    const int inward = side == 0 ? 1 : -1;
    const int beyond = static_cast<int>(side == 0 ? axis.begin - 1 : axis.end) - first;
    if (beyond < 0 || beyond >= size) return;
    to = beyond;
    given = axis.fixed(side);
    from = given ? nowhere : beyond + (axis.mirrors(side) ? 2 : 1) * inward;
  }
};

/// The plane to read for plane i of a walk, perhaps one beyond the field; what lies farther nobody uses.
[[nodiscard]] __device__ __forceinline__ int plane_to_read(const Axis& axis, int i) {
  const int begin = static_cast<int>(axis.begin), end = static_cast<int>(axis.end);
  if (axis.wrapped) return static_cast<int>(turned(axis, i));
  const int low = !axis.edge[0] ? begin : axis.fixed(0) ? begin - 1 : axis.mirrors(0) ? begin + 1 : begin;
  const int high = !axis.edge[1] ? end - 1 : axis.fixed(1) ? end : axis.mirrors(1) ? end - 2 : end - 1;
  return i < begin ? low : i >= end ? high : i;
}

/// A block's walk along z, of a tile that reaches an end of the rows or columns if `edges`; `given`: some
/// side of the field has values of its own. A tile at an end holds the points one beyond the field's end,
/// too: they are written with the plane.
template <class T, int steps, bool hollow, bool given, bool edges>
struct SolidMarch {
  using Shape = SolidShape<T, steps>;
  static constexpr int length = vector_length<T>, rows = Shape::rows, height = rows * Shape::warps;
  using V = Vector<T>;
  using Rows = V[rows];
  using Plane = V[height][32];
  struct Shared {
    Plane loaded[3];               ///< of the first level: the last one, the present one, one on its way
    Plane computed[steps - 1][2];  ///< of the other levels: the last one and the present one
  };
  const Pass<T>& p;
  const Axis& walked;
  KeptSolid kept;
  int z;                      ///< the plane of the first level that is taken in
  int last, present, coming;  ///< of the loaded planes
  int x, from_x;              ///< of the lane's vector, and where it is read
  int y0;                     ///< of the thread's first row
  int lane, row0;             ///< places in the tile: of the lane's vectors, of the thread's first row
  SideOfTile before_x, behind_x, before_y, behind_y;
  bool whole = true;        ///< the lane's vectors are not parted where the axis wraps
  bool consecutive = true;  ///< the thread's rows are read one beside the other
  bool at_side = false;     ///< some of the thread's rows lie beyond the field, or are repeated there
  Shared& shared;
  Rows product[steps];  ///< by level: the last plane multiplied by the first weight

  __device__ SolidMarch(const Pass<T>& pass, int x0, int tile_y, int first, KeptSolid what)
      : p(pass),
        walked(pass.axis[0]),
        kept(what),
        z(first),
        last(0),
        present(1),
        coming(2),
        x(x0 + static_cast<int>(threadIdx.x) * length),
        from_x(x),
        y0(tile_y + static_cast<int>(threadIdx.y) * rows),
        lane(static_cast<int>(threadIdx.x)),
        row0(static_cast<int>(threadIdx.y) * rows),
        before_x(p.axis[2], 0, x0, 32 * length),
        behind_x(p.axis[2], 1, x0, 32 * length),
        before_y(p.axis[1], 0, tile_y, height),
        behind_y(p.axis[1], 1, tile_y, height),
        shared(*reinterpret_cast<Shared*>(shared_planes)),
        product{} {
    if constexpr (edges) {
      const Axis &across = p.axis[1], &along = p.axis[2];
      const int begin = static_cast<int>(along.begin), end = static_cast<int>(along.end);
      if (along.wrapped) {
        from_x = static_cast<int>(turned(along, x));
        whole = (end - begin) % length == 0 && from_x % length == 0;
      } else {
        from_x = max(begin & -length, min(x, (end - 1) & -length));
      }
      consecutive = y0 >= across.begin && y0 + rows <= across.end;
      for (const SideOfTile& side : {before_y, behind_y})
        at_side = at_side || has(side.to) || (side.from != nowhere && has(side.from));
    }
    fetch(present, z);
    kernels::end_group();
  }

  __device__ __forceinline__ bool has(int row) const { return row >= row0 && row < row0 + rows; }
  /// Whether row j of the thread's is one beyond the field that others write; or that has values of its own.
  __device__ __forceinline__ bool an_image(int j) const {
    return (row0 + j == before_y.to && !before_y.given) || (row0 + j == behind_y.to && !behind_y.given);
  }
  __device__ __forceinline__ bool of_its_own(int j) const {
    return given &&
           ((row0 + j == before_y.to && before_y.given) || (row0 + j == behind_y.to && behind_y.given));
  }
  __device__ __forceinline__ const T* row_at(int plane, int y) const {
    return p.in + plane * p.stride[0] + y * p.stride[1];
  }
  /// Where the thread's row j is read, in a plane that lies in memory: its first element.
  __device__ __forceinline__ const T* row_in(int plane, int j) const {
    const index_t y = y0 + j;
    return row_at(plane, static_cast<int>(edges && !of_its_own(j) ? p.axis[1].readable(y) : y));
  }
  __device__ __forceinline__ static void copy(V& to, const T* from) {
    kernels::copy_async_staying(kernels::shared_address(&to), from, kernels::reads_stay());
  }
  /// Copies plane `at` to a slot of the loaded ones.
  __device__ __forceinline__ void fetch(int slot, int at) const {
    const int plane = plane_to_read(walked, at);
    if (edges && !(whole && consecutive)) return fetch_apart(slot, plane);
    const T* from = row_at(plane, y0) + from_x;
#pragma unroll
    for (int j = 0; j < rows; ++j) copy(shared.loaded[slot][row0 + j][lane], from + j * p.stride[1]);
  }
  __device__ __forceinline__ void fetch_apart(int slot, int plane) const {
#pragma unroll 1
    for (int j = 0; j < rows; ++j) {
      if (an_image(j)) continue;
      V& to = shared.loaded[slot][row0 + j][lane];
      const T* row = row_in(plane, j);
      if (whole) {
        copy(to, row + from_x);
      } else {
#pragma unroll
        for (int e = 0; e < length; ++e)
          kernels::copy_async<sizeof(T)>(kernels::shared_address(to.at + e), row + turned(p.axis[2], x + e));
      }
    }
  }
  /// The thread's own part of a plane that lies in memory.
  __device__ __forceinline__ void load(int plane, Rows& c) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) load_row(plane, j, c[j]);
  }
  __device__ __forceinline__ void load_row(int plane, int j, V& v) const {
    const T* row = row_in(plane, j);
#pragma unroll
    for (int e = 0; e < length; ++e) v.at[e] = __ldg(row + (whole ? from_x + e : turned(p.axis[2], x + e)));
  }
  /// and of one in shared memory.
  __device__ __forceinline__ void take(const Plane& plane, Rows& c) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) c[j] = plane[row0 + j][lane];
  }

  /// Writes the columns beyond the field in the warp's rows of the present planes of all levels: a lane a
  /// row.
  __device__ __forceinline__ void put_columns() const {
    static_assert(steps * rows <= 32);
    __syncwarp();
    const int level = lane / rows, j = lane % rows;
    if (level >= steps || an_image(j)) return;
    Plane& plane = level == 0 ? shared.loaded[present] : shared.computed[level - 1][z & 1];
    T* row = plane[row0 + j][0].at;
    const auto value = [&](const SideOfTile& ghosts, index_t at) {
      if (!given || !ghosts.given) return row[ghosts.from];
      return __ldg(row_in(static_cast<int>(turned(walked, z - level)), j) + at);
    };
    if (before_x.to != nowhere) row[before_x.to] = value(before_x, p.axis[2].begin - 1);
    if (behind_x.to != nowhere) row[behind_x.to] = value(behind_x, p.axis[2].end);
  }
  /// Writes the thread's part of a plane, which is plane z_here of the field, and what it is beyond the
  /// field.
  __device__ __forceinline__ void put(Plane& plane, int z_here, const Rows& c) const {
    if (edges && at_side) return put_at_side(plane, z_here, c);
#pragma unroll
    for (int j = 0; j < rows; ++j) plane[row0 + j][lane] = c[j];
  }
  __device__ __forceinline__ void put_at_side(Plane& plane, int z_here, const Rows& c) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      if (!an_image(j)) plane[row0 + j][lane] = c[j];
      if (row0 + j == before_y.from) plane[before_y.to][lane] = c[j];
      if (row0 + j == behind_y.from) plane[behind_y.to][lane] = c[j];
      if (of_its_own(j)) load_row(static_cast<int>(turned(walked, z_here)), j, plane[row0 + j][lane]);
    }
  }

  /// The thread's part of a level's last plane, and the rows beside it.
  struct Within {
    Rows c;
    V above, below;
  };
  __device__ __forceinline__ Within within(const Plane& plane) const {
    Within w;
    take(plane, w.c);
    w.above = plane[row0 > 0 ? row0 - 1 : 0][lane];
    w.below = plane[row0 + rows < height ? row0 + rows : row0][lane];
    return w;
  }
  /// sum = the product and those within the plane; then the product is the plane's own.
  __device__ __forceinline__ void add_within(const Within& w, Rows& first, Rows& sum) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      V s = first[j];
      add_product(p.weight[1], j > 0 ? w.c[j > 0 ? j - 1 : 0] : w.above, s);
      add_along(w.c[j], s);
      add_product(p.weight[5], j + 1 < rows ? w.c[j + 1 < rows ? j + 1 : 0] : w.below, s);
      sum[j] = s;
    }
    multiply(w.c, first);
  }
  /// sum and the products with the elements beside each of c, and itself.
  __device__ __forceinline__ void add_along(const V& c, V& sum) const {
    const T before = __shfl_up_sync(0xffffffffu, c.at[length - 1], 1);
    const T behind = __shfl_down_sync(0xffffffffu, c.at[0], 1);
#pragma unroll
    for (int e = 0; e < length; ++e) {
      sum.at[e] = fma(p.weight[2], e > 0 ? c.at[e > 0 ? e - 1 : 0] : before, sum.at[e]);
      if constexpr (!hollow) sum.at[e] = fma(p.weight[3], c.at[e], sum.at[e]);
      sum.at[e] = fma(p.weight[4], e + 1 < length ? c.at[e + 1 < length ? e + 1 : 0] : behind, sum.at[e]);
    }
  }
  __device__ __forceinline__ void multiply(const Rows& c, Rows& to) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) to[j] = times(p.weight[0], c[j]);
  }
  /// c = sum and the last product, with c.
  __device__ __forceinline__ void complete(const Rows& sum, Rows& c) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      V s = sum[j];
      add_product(p.weight[6], c[j], s);
      c[j] = s;
    }
  }
  __device__ __forceinline__ void keep(const Rows& c) const {
    if (z - steps < kept.low) return;
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      if (y0 + j < kept.low_y || y0 + j >= kept.high_y) continue;
      put_part(p.out + (z - steps) * p.stride[0] + (y0 + j) * p.stride[1], x, kept.low_x, kept.high_x, c[j]);
    }
  }

  /// At a level behind the first one, whose last plane is plane `at` and whose present one is c: what lies
  /// before the field's first plane, and behind its last one, takes its place in the sum.
  __device__ __forceinline__ void end_sum(int level, int at, Rows& c) {
    const auto& planes = shared.computed[level - 1];
    if (walked.edge[0] && at == walked.begin) {
      Rows before;
      if (given && walked.fixed(0)) {
        load(at - 1, before);
      } else {
        take(planes[(z & 1) ^ 1], before);
      }
      if (walked.mirrors(0)) {
        multiply(c, product[level]);
      } else {
        multiply(before, product[level]);
      }
    }
    if (walked.edge[1] && at == walked.end - 1) {
      if (given && walked.fixed(1)) {
        load(at + 1, c);
      } else {
        take(planes[walked.mirrors(1) ? z & 1 : (z & 1) ^ 1], c);
      }
    }
  }
  /// Walks to plane `end`; ends: the first or the last plane of the field may be among the planes of a level.
  template <bool ends>
  __device__ __forceinline__ void planes(int end) {
    for (; z < end; ++z) {
      fetch(coming, z + 1);
      kernels::end_group();
      kernels::wait_for_groups<1>();
      __syncwarp();
      Rows c, sum;
      const Within loaded = within(shared.loaded[last]);
      take(shared.loaded[present], c);
      if (edges && at_side) put_at_side(shared.loaded[present], z, c);
      add_within(loaded, product[0], sum);
#pragma unroll
      for (int level = 1; level < steps; ++level) {
        auto& both = shared.computed[level - 1];
        const Within before = within(both[(z & 1) ^ 1]);  // first of all: it takes its time
        complete(sum, c);
        if constexpr (ends) {
          Rows written;
#pragma unroll
          for (int j = 0; j < rows; ++j) written[j] = c[j];
          end_sum(level, z - level - 1, c);
          put(both[z & 1], z - level, written);
        } else {
          put(both[z & 1], z - level, c);
        }
        add_within(before, product[level], sum);
      }
      complete(sum, c);
      keep(c);
      if (edges && (before_x.to != nowhere || behind_x.to != nowhere)) put_columns();
      const int free = last;
      last = present, present = coming, coming = free;
      __syncthreads();
    }
  }
  /// All planes of the chunk.
  __device__ __forceinline__ void run() {
    walk(
        walked, steps, kept.high, z, [&](int end, bool) { planes<true>(end); }, [] {},
        [&](int end) { planes<false>(end); });
  }
};

}  // namespace tessera::stencil
