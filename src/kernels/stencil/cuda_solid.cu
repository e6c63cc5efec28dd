// One step of a full star of radius 1 in three dimensions. A thread walks along z with a vector of
// some rows: the previous and the current plane stay in registers, and the next one is loaded
// during the sums. Values beyond an edge are read from the points that the boundary condition
// names, so no ghosts are maintained and one kernel covers all points: writing the ghosts at the
// ends of rows alone, one memory sector each, would cost a tenth of the bandwidth.

#include <cmath>
#include <limits>
#include <string>

#include "kernels/stencil/cuda_packed.cuh"
#include "kernels/stencil/cuda_single.hpp"

namespace tessera::inline v1::stencil {
namespace {

constexpr int lanes = 32;

/// The points [low, high) of a step, and the positions of the outermost points' neighbours, along
/// z, y, x.
template <class T>
struct Solid {
  const T* in;
  T* out;
  index_t stride_z;
  int stride_y;
  int low[3], high[3];
  int before_low[3], after_high[3];
  int first_x;  ///< x of the first vector: aligned, at or before low
  int march;    ///< planes per block
  Arithmetic<T> weight[7], previous;

  /// Returns the position of index i of [low - 1, high].
  [[nodiscard]] __device__ __forceinline__ int place(int d, int i) const {
    return i < low[d] ? before_low[d] : i >= high[d] ? after_high[d] : i;
  }
};

/// The shape of a block. across: adjacent lanes of a warp, the others in folds below them; down:
/// warps of a block, below each other; rows: rows per thread, along y.
template <int across_, int down_>
struct SolidShape {
  static constexpr int rows = 4, across = across_, folds = lanes / across_, warps = down_;
  static constexpr int threads = lanes * warps, height = rows * folds * warps;
  /// Resident blocks per multiprocessor: 512 threads fit with all their registers.
  static constexpr int blocks = 512 / threads;
};
using WholeWarps = SolidShape<lanes, 8>;
using FoldedWarps = SolidShape<lanes / 2, 4>;

/// A thread's rows of a plane with the adjacent rows, and the elements to the left and right of the
/// fold's vectors.
template <class T, int rows>
struct Slab {
  Packed<T> row[rows + 2];
  T left[rows], right[rows];
};

/// The positions of a thread's vectors in a plane.
template <class T, class Shape>
struct Column {
  static constexpr int rows = Shape::rows;
  static constexpr int length = vector_length<T>;
  int x, offset[rows + 2];
  int left, right;  ///< relative to x
  int slot;         ///< the element that `right` replaces; `length`: the element after the vector
  bool reads_left, reads_right;

  __device__ Column(const Solid<T>& p, int wanted_x, int y) {
    const int last = p.first_x + (p.high[2] - 1 - p.first_x) / length * length;
    x = min(wanted_x, last);  // all lanes participate in the exchange
#pragma unroll
    for (int k = 0; k < rows + 2; ++k)
      offset[k] = p.place(1, min(y + k - 1, p.high[1])) * p.stride_y + x;
    const int lane = static_cast<int>(threadIdx.x) % Shape::across;
    slot = min(p.high[2] - x, length);
    reads_left = lane == 0;
    reads_right = lane == Shape::across - 1 || x == last;
    left = x > p.low[2] ? -1 : x == p.low[2] ? p.before_low[2] - x : 0;
    right = x == last ? p.after_high[2] - x : length;
  }

  __device__ __forceinline__ void load(const T* plane, Slab<T, rows>& slab) const {
#pragma unroll
    for (int k = 0; k < rows + 2; ++k) slab.row[k] = load_packed(plane + offset[k]);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      if (reads_left) slab.left[j] = load_once(plane + offset[j + 1] + left);
      if (reads_right) slab.right[j] = load_once(plane + offset[j + 1] + right);
    }
  }
};

template <bool hollow, bool previous, class Shape, class T>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    star_solid(const __grid_constant__ Solid<T> p, unsigned across, unsigned down) {
  constexpr int length = vector_length<T>, rows = Shape::rows;
  using A = Arithmetic<T>;
  using Wide = Vector<A, length>;
  const int lane = static_cast<int>(threadIdx.x);
  const int block_x = static_cast<int>(blockIdx.x % across),
            row = static_cast<int>(blockIdx.x / across);
  const int block_y = row % static_cast<int>(down),
            z0 = p.low[0] + row / static_cast<int>(down) * p.march;
  const int wanted_x = p.first_x + (block_x * Shape::across + lane % Shape::across) * length;
  const int warps_y =
      p.low[1] + (block_y * Shape::warps + static_cast<int>(threadIdx.y)) * Shape::folds * rows;
  if (warps_y >= p.high[1]) return;  // uniform over the warp
  const int y = warps_y + lane / Shape::across * rows;
  const Column<T, Shape> column(p, wanted_x, y);
  const bool writes = wanted_x < p.high[2],
             whole = wanted_x >= p.low[2] && wanted_x + length <= p.high[2];
  const auto plane = [&](int z) { return p.in + p.place(0, z) * p.stride_z; };

  Packed<T> before[rows];
  Slab<T, rows> here, after;
#pragma unroll
  for (int j = 0; j < rows; ++j) before[j] = load_packed(plane(z0 - 1) + column.offset[j + 1]);
  column.load(plane(z0), here);
  T* out = p.out + z0 * p.stride_z + y * p.stride_y + column.x;
  for (int z = z0; z < min(z0 + p.march, p.high[0]); ++z, out += p.stride_z) {
    column.load(plane(z + 1), after);
    if (column.slot < length) {
#pragma unroll
      for (int j = 0; j < rows; ++j)
        here.row[j + 1] = replaced(here.row[j + 1], 1, column.slot, here.right[j]);
    }
    Wide sum[rows];
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Wide &above = unpacked(here.row[j]), &c = unpacked(here.row[j + 1]),
                 &below = unpacked(here.row[j + 2]), &first = unpacked(before[j]);
      A left = __shfl_up_sync(~0U, c.at[length - 1], 1, Shape::across);
      A right = __shfl_down_sync(~0U, c.at[0], 1, Shape::across);
      left = column.reads_left ? computed(here.left[j]) : left;
      right = column.reads_right ? computed(here.right[j]) : right;
#pragma unroll
      for (int e = 0; e < length; ++e) {
        A s = p.weight[0] * first.at[e];
        s = fma(p.weight[1], above.at[e], s);
        s = fma(p.weight[2], e > 0 ? c.at[e > 0 ? e - 1 : 0] : left, s);
        if constexpr (!hollow) s = fma(p.weight[3], c.at[e], s);
        s = fma(p.weight[4], e < length - 1 ? c.at[e < length - 1 ? e + 1 : 0] : right, s);
        sum[j].at[e] = fma(p.weight[5], below.at[e], s);
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Wide& last = unpacked(after.row[j + 1]);
#pragma unroll
      for (int e = 0; e < length; ++e) sum[j].at[e] = fma(p.weight[6], last.at[e], sum[j].at[e]);
      if (!writes || y + j >= p.high[1]) continue;
      T* const to = out + j * p.stride_y;
      if constexpr (previous) {
        const Wide past = unpacked(*reinterpret_cast<const Packed<T>*>(to));
#pragma unroll
        for (int e = 0; e < length; ++e) sum[j].at[e] = fma(p.previous, past.at[e], sum[j].at[e]);
      }
      const Packed<T> result = packed<T>(sum[j]);
      if (whole) {
        *reinterpret_cast<Packed<T>*>(to) = result;
      } else {
#pragma unroll
        for (int e = 0; e < length; ++e) {
          if (column.x + e >= p.low[2] && column.x + e < p.high[2]) to[e] = element(result, e);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) before[j] = here.row[j + 1];
    here = after;
  }
}

/// The blocks of a shape over a region, each of which walks `march` planes.
template <class Shape, class T>
struct Blocks {
  index_t across, down, deep, march;

  Blocks(const Solid<T>& p, index_t planes)
      : across(ceil_div(index_t{p.high[2] - p.first_x}, width)),
        down(ceil_div(index_t{p.high[1] - p.low[1]}, index_t{Shape::height})),
        deep(ceil_div(index_t{p.high[0] - p.low[0]}, planes)),
        march(planes) {}
  static constexpr index_t width = Shape::across * vector_length<T>;

  /// Returns the time of a step in arbitrary units, by a model of five constants that fits an H200
  /// within about 2 %, measured on fields of 256^3 to 1024^3 in all three types. A partial wave of
  /// blocks takes .4 of the time of a full one plus a part proportional to the number of blocks; a
  /// walk costs .6 of a plane more than its planes; lanes without points cost half as much as
  /// others, and folded warps, which read the 4 elements next to their vectors twice as often, 3 %
  /// more.
  [[nodiscard]] double time(const Solid<T>& p, index_t multiprocessors) const {
    const auto real = [](index_t i) { return static_cast<double>(i); };
    const double sets = real(across * down * deep) / real(Shape::blocks * multiprocessors);
    const double partial = sets - std::floor(sets);
    const double turns = std::floor(sets) + (partial > 0 ? .4 + .6 * partial : 0);
    const double used = real(p.high[2] - p.low[2]) * real(p.high[1] - p.low[1]) /
                        (real(across * width) * real(down * Shape::height));
    const double planes = real(p.high[0] - p.low[0]) / real(deep);
    return turns / sets * (1 + .6 / planes) / (.5 + .5 * used) * (Shape::folds > 1 ? 1.03 : 1);
  }
};

/// Returns the fastest of the candidate walks, or the requested length. If a plane of f32 fills
/// half of the device, adjacent blocks drift apart on long walks and read shared rows twice
/// (1024^3: .89 of a copy with 64 planes, .91 with 16).
template <class Shape, class T>
Blocks<Shape, T> quickest(const Solid<T>& p, index_t march, index_t multiprocessors) {
  Blocks<Shape, T> best(p, march > 0 ? march : 8);
  if (march > 0) return best;
  const bool drifts =
      sizeof(T) == 4 && 2 * best.across * best.down > Shape::blocks * multiprocessors;
  for (const index_t planes : {16, 24, 32, 48, 64}) {
    if (drifts && planes > 16) break;
    const Blocks<Shape, T> blocks(p, planes);
    if (blocks.time(p, multiprocessors) < best.time(p, multiprocessors)) best = blocks;
  }
  return best;
}

template <class Shape, class T>
void launch(const DeviceSweep<T>& s, Solid<T> p, const Blocks<Shape, T>& cut, DeviceStream stream) {
  p.march = narrow<int>(cut.march);
  const auto blocks = narrow<unsigned>(checked_mul(
      checked_mul(cut.across, cut.down, "size of a launch"), cut.deep, "size of a launch"));
  const dim3 threads(lanes, Shape::warps);
  const auto with = [&]<bool hollow, bool previous>() {
    star_solid<hollow, previous, Shape><<<blocks, threads, 0, stream>>>(
        p, static_cast<unsigned>(cut.across), static_cast<unsigned>(cut.down));
  };
  if (s.hollow) {
    with.template operator()<true, false>();
  } else if (s.two_levels) {
    with.template operator()<false, true>();
  } else {
    with.template operator()<false, false>();
  }
  check_launch();
}

}  // namespace

template <class T>
bool steps_solid(const DeviceSweep<T>& s) {
  return s.dims == 3 && s.star == 1 && !(s.hollow && s.two_levels) && s.rule == Rule::linear &&
         s.stride[0] <= std::numeric_limits<int>::max();
}

template <class T>
void solid_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
                DeviceStream stream) {
  Solid<T> p{in, out, s.stride[0], static_cast<int>(s.stride[1]), {}, {}, {}, {}, 0,
             0,  {},  s.previous};
  for (int d = 0; d < 3; ++d) {
    const Line& line = s.line[d];
    const auto place = [&](index_t i) {
      return narrow<int>(line.inside(i) || line.fixed(line.side(i)) ? i : line.source(i));
    };
    p.low[d] = narrow<int>(region.low[d]);
    p.high[d] = narrow<int>(region.high[d]);
    p.before_low[d] = place(region.low[d] - 1);
    p.after_high[d] = place(region.high[d]);
  }
  constexpr int length = vector_length<T>;
  p.first_x = p.low[2] - ((p.low[2] % length) + length) % length;
  for (int k = 0; k < 7; ++k) p.weight[k] = s.weight[k];
  const index_t multiprocessors = machine::cuda::attribute(cudaDevAttrMultiProcessorCount);
  const auto whole = quickest<WholeWarps>(p, march, multiprocessors);
  const auto folded = quickest<FoldedWarps>(p, march, multiprocessors);
  if (whole.time(p, multiprocessors) <= folded.time(p, multiprocessors)) {
    launch(s, p, whole, stream);
  } else {
    launch(s, p, folded, stream);
  }
}

template bool steps_solid(const DeviceSweep<Half>&);
template bool steps_solid(const DeviceSweep<float>&);
template bool steps_solid(const DeviceSweep<double>&);
template void solid_step(const DeviceSweep<Half>&, const Half*, Half*, const Region&, index_t,
                         DeviceStream);
template void solid_step(const DeviceSweep<float>&, const float*, float*, const Region&, index_t,
                         DeviceStream);
template void solid_step(const DeviceSweep<double>&, const double*, double*, const Region&, index_t,
                         DeviceStream);

void add_solid_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const std::string& type, T) {
    const auto with = [&]<class Shape, bool hollow, bool previous>(const char* of) {
      to.push_back(machine::device_function("cuda_streaming", type + ", three dimensions, " + of,
                                            star_solid<hollow, previous, Shape, T>,
                                            Shape::threads));
    };
    with.template operator()<WholeWarps, false, false>("star");
    with.template operator()<FoldedWarps, false, false>("star, folded warps");
    with.template operator()<WholeWarps, true, false>("star without its centre");
    with.template operator()<WholeWarps, false, true>("star of two time levels");
  };
  add("f16", Half{});
  add("f32", 0.0F);
  add("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
