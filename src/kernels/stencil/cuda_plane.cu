// One step in two dimensions: means over squares, chains over squares, stars. A thread loads a
// vector of some rows and of the surrounding rows, all at once; neighbours along the row come by
// shuffles from adjacent lanes, of which the outermost are halo lanes that write nothing. Values
// beyond an edge are read from the points that the boundary condition names, so no ghosts are
// maintained.

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/cuda_single.hpp"
#include "kernels/stencil/cuda_widen.cuh"

namespace tessera::inline v1::stencil {
namespace {

constexpr int lanes = 32;
constexpr int warps = 8;  // of a block, stacked along y

template <class T>
struct Plane {
  const T* in;
  T* out;
  index_t stride;
  Around around[2];  ///< along y, x
  int first_x;       ///< x of the first vector: aligned, at or before the region
  Rule rule;
  Arithmetic<T> previous, weight[most_weights];
};

/// A vector of a row in the arithmetic type.
template <class T>
using Computed = Vector<Arithmetic<T>, vector_length<T>>;
template <class T>
__device__ __forceinline__ Computed<T> computed_row(const Vector<T>& v) {
  Computed<T> wide;
#pragma unroll
  for (int e = 0; e < vector_length<T>; ++e) wide.at[e] = computed(v.at[e]);
  return wide;
}

/// Computes the sums of 2 * radius + 1 values from u(0) on by doubling (Form::box), at `count`
/// adjacent positions.
template <int radius, int count, class T, class At>
__device__ __forceinline__ void doubled(const At& u, T (&sums)[count]) {
  constexpr int all = count + 2 * radius;
  T two[all], four[all];
#pragma unroll
  for (int i = 0; i + 1 < all; ++i) two[i] = u(i) + u(i + 1);
#pragma unroll
  for (int i = 0; i + 3 < all; ++i) four[i] = two[i] + two[i + 2];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if constexpr (radius == 1) sums[i] = two[i] + u(i + 2);
    if constexpr (radius == 2) sums[i] = four[i] + u(i + 4);
    if constexpr (radius == 3) sums[i] = (four[i] + two[i + 4]) + u(i + 6);
    if constexpr (radius == 4) sums[i] = (four[i] + four[i + 4]) + u(i + 8);
  }
}

/// The mean over a square: sums along y of the lane's own vectors, then along x.
template <int radius_>
struct BoxSum {
  static constexpr int radius = radius_;
  template <int rows, class T>
  __device__ __forceinline__ static void sums(const Plane<T>& p,
                                              const Vector<T> (&row)[rows + 2 * radius],
                                              Computed<T> (&sum)[rows]) {
    constexpr int length = vector_length<T>;
    using A = Arithmetic<T>;
    A columns[length][rows];
#pragma unroll
    for (int e = 0; e < length; ++e)
      doubled<radius, rows>([&](int k) { return computed(row[k].at[e]); }, columns[e]);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      Computed<T> own;
#pragma unroll
      for (int e = 0; e < length; ++e) own.at[e] = columns[e][j];
      A wide[length + 2 * radius];
      widen<radius>(own, wide);
      doubled<radius, length>([&](int i) { return wide[i]; }, sum[j].at);
#pragma unroll
      for (int e = 0; e < length; ++e) sum[j].at[e] *= p.weight[0];
    }
  }
};

/// A chain over a square: every row, once widened, is added to all sums that contain it.
template <int radius_>
struct SquareSum {
  static constexpr int radius = radius_, width = 2 * radius + 1;
  template <int rows, class T>
  __device__ __forceinline__ static void sums(const Plane<T>& p,
                                              const Vector<T> (&row)[rows + 2 * radius],
                                              Computed<T> (&sum)[rows]) {
    constexpr int length = vector_length<T>;
#pragma unroll
    for (int i = 0; i < rows + 2 * radius; ++i) {
      Arithmetic<T> wide[length + 2 * radius];
      widen<radius>(computed_row(row[i]), wide);
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const int dy = i - j;  // offset from the first row of the square
        if (dy < 0 || dy >= width) continue;
#pragma unroll
        for (int dx = 0; dx < width; ++dx) {
          const Arithmetic<T> w = p.weight[dy * width + dx];
#pragma unroll
          for (int e = 0; e < length; ++e)
            sum[j].at[e] = dy == 0 && dx == 0 ? w * wide[e] : fma(w, wide[e + dx], sum[j].at[e]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) {
#pragma unroll
      for (int e = 0; e < length; ++e) sum[j].at[e] = apply_rule(p.rule, sum[j].at[e]);
    }
  }
};

template <int radius_, bool hollow>
struct StarSum {
  static constexpr int radius = radius_;
  template <int rows, class T>
  __device__ __forceinline__ static void sums(const Plane<T>& p,
                                              const Vector<T> (&row)[rows + 2 * radius],
                                              Computed<T> (&sum)[rows]) {
    constexpr int length = vector_length<T>;
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      Arithmetic<T> wide[length + 2 * radius];
      widen<radius>(computed_row(row[j + radius]), wide);
#pragma unroll
      for (int e = 0; e < length; ++e) {
        Arithmetic<T> s = p.weight[0] * computed(row[j].at[e]);
#pragma unroll
        for (int k = 1; k < radius; ++k) s = fma(p.weight[k], computed(row[j + k].at[e]), s);
#pragma unroll
        for (int k = 0; k <= 2 * radius; ++k) {
          if (!hollow || k != radius) s = fma(p.weight[radius + k], wide[e + k], s);
        }
#pragma unroll
        for (int k = 1; k <= radius; ++k)
          s = fma(p.weight[3 * radius + k], computed(row[j + radius + k].at[e]), s);
        sum[j].at[e] = s;
      }
    }
  }
};

template <class Sum, int rows, bool previous, class T>
__global__ void __launch_bounds__(lanes* warps)
    plane_rows(const __grid_constant__ Plane<T> p, unsigned across) {
  constexpr int length = vector_length<T>, radius = Sum::radius, helpers = helping_lanes<T, radius>;
  const Around &along_y = p.around[0], &along_x = p.around[1];
  const int tile = static_cast<int>(blockIdx.x % across), lane = static_cast<int>(threadIdx.x);
  const int x = p.first_x + (tile * (lanes - 2 * helpers) + lane - helpers) * length;
  const int y =
      along_y.low +
      (static_cast<int>(blockIdx.x / across) * warps + static_cast<int>(threadIdx.y)) * rows;
  if (y >= along_y.high) return;  // uniform over the warp
  const auto row_at = [&](int k) { return p.in + along_y.place(y + k - radius) * p.stride; };
  Vector<T> row[rows + 2 * radius];
  if (x >= along_x.low && x + length <= along_x.high) {
#pragma unroll
    for (int k = 0; k < rows + 2 * radius; ++k) row[k] = load_vector(row_at(k) + x);
  } else {
#pragma unroll
    for (int e = 0; e < length; ++e) {
      const int from = along_x.place(x + e);  // but fixed rows extend beyond their ends
      const int on = max(along_x.low - radius, min(x + e, along_x.high + radius - 1));
#pragma unroll
      for (int k = 0; k < rows + 2 * radius; ++k)
        row[k].at[e] = load_once(row_at(k) + (along_y.is_fixed(y + k - radius) ? on : from));
    }
  }
  __syncwarp();
  Computed<T> sum[rows];
  Sum::template sums<rows>(p, row, sum);
  if (lane < helpers || lane >= lanes - helpers || x >= along_x.high) return;
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    if (y + j >= along_y.high) return;
    T* const to = p.out + (y + j) * p.stride + x;
    if constexpr (previous) {
#pragma unroll
      for (int e = 0; e < length; ++e)
        sum[j].at[e] = fma(p.previous, computed(to[e]), sum[j].at[e]);
    }
    Vector<T> result;
#pragma unroll
    for (int e = 0; e < length; ++e) result.at[e] = kept<T>(sum[j].at[e]);
    store_part(to, x, along_x.low, along_x.high, result);
  }
}

/// Rows per thread, tuned on an H200: more rows share more loads, fewer leave registers for more
/// warps.
template <class Sum>
constexpr int rows_of = 4;
template <>
inline constexpr int rows_of<BoxSum<4>> = 8;

template <class Sum, bool previous, class T>
void launch(const Plane<T>& p, DeviceStream stream) {
  constexpr int rows = rows_of<Sum>;
  constexpr int wide = (lanes - 2 * helping_lanes<T, Sum::radius>)*vector_length<T>;
  const Around &along_y = p.around[0], &along_x = p.around[1];
  const index_t across = ceil_div(along_x.high - p.first_x, wide),
                down = ceil_div(along_y.high - along_y.low, warps * rows);
  const auto blocks = narrow<unsigned>(checked_mul(across, down, "size of a launch"));
  plane_rows<Sum, rows, previous>
      <<<blocks, dim3(lanes, warps), 0, stream>>>(p, static_cast<unsigned>(across));
  check_launch();
}

}  // namespace

template <class T>
bool steps_plane(const DeviceSweep<T>& s) {
  if (s.dims != 2 || s.stride[0] > std::numeric_limits<int>::max()) return false;
  if (s.form == Form::box) return true;
  if (s.two_levels) return s.star == 1 && !s.hollow;
  return s.square > 0 || s.star == 1 || (s.star > 1 && !s.hollow);
}

template <class T>
void plane_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region,
                DeviceStream stream) {
  Plane<T> p{in, out,    s.stride[1], {around_of(s, region, 1), around_of(s, region, 2)},
             0,  s.rule, s.previous,  {}};
  p.first_x = narrow<int>(aligned_below<T>(region.low[2]));
  std::copy_n(s.weight, most_weights, p.weight);
  const auto square = [&]<int radius>() {
    if (s.radius[2] != radius) return;
    if (s.form == Form::box) {
      launch<BoxSum<radius>, false>(p, stream);
    } else if (s.square > 0) {
      launch<SquareSum<radius>, false>(p, stream);
    } else if (s.two_levels) {
      if constexpr (radius == 1) launch<StarSum<1, false>, true>(p, stream);
    } else if (s.hollow) {
      if constexpr (radius == 1) launch<StarSum<1, true>, false>(p, stream);
    } else {
      launch<StarSum<radius, false>, false>(p, stream);
    }
  };
  square.template operator()<1>();
  square.template operator()<2>();
  square.template operator()<3>();
  square.template operator()<4>();
}

template bool steps_plane(const DeviceSweep<Half>&);
template bool steps_plane(const DeviceSweep<float>&);
template bool steps_plane(const DeviceSweep<double>&);
template void plane_step(const DeviceSweep<Half>&, const Half*, Half*, const Region&, DeviceStream);
template void plane_step(const DeviceSweep<float>&, const float*, float*, const Region&,
                         DeviceStream);
template void plane_step(const DeviceSweep<double>&, const double*, double*, const Region&,
                         DeviceStream);

void add_plane_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const std::string& type, T) {
    const auto sum = [&](const char* of, auto* function) {
      to.push_back(machine::device_function("cuda_streaming", type + ", two dimensions, " + of,
                                            function, lanes * warps));
    };
    sum("box of radius 1", plane_rows<BoxSum<1>, rows_of<BoxSum<1>>, false, T>);
    sum("box of radius 4", plane_rows<BoxSum<4>, rows_of<BoxSum<4>>, false, T>);
    sum("chain in a square of radius 4", plane_rows<SquareSum<4>, rows_of<SquareSum<4>>, false, T>);
    sum("star of radius 4", plane_rows<StarSum<4, false>, rows_of<StarSum<4, false>>, false, T>);
    sum("star of two time levels",
        plane_rows<StarSum<1, false>, rows_of<StarSum<1, false>>, true, T>);
  };
  add("f16", Half(0));
  add("f32", 0.0F);
  add("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
