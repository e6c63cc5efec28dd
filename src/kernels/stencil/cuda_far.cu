// One step of a full star of radius 2 to 4 in three dimensions. A thread walks along z and holds a
// vector of some rows of all the planes that the star spans, while the next plane is loaded. Other
// rows come from the first-level cache, neighbours along the row by shuffles from adjacent lanes,
// of which the outermost are halo lanes that write nothing. No ghosts are maintained.

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/cuda_single.hpp"
#include "kernels/stencil/cuda_widen.cuh"

namespace tessera::inline v1::stencil {
namespace {

constexpr int lanes = 32;
constexpr int warps = 4;  // of a block, stacked along y
constexpr int rows = 2;   // of a thread

/// The points [low, high) of a step, and the positions of the surrounding ones, along z, y, x.
template <class T>
struct Space {
  const T* in;
  T* out;
  index_t stride_z;
  int stride_y, march;
  Around around[3];
  int first_x;
  T weight[6 * largest_square + 1];
};

template <int radius, class T>
__global__ void __launch_bounds__(lanes* warps)
    far_star(const __grid_constant__ Space<T> p, unsigned across, unsigned down) {
  constexpr int length = vector_length<T>, helpers = helping_lanes<T, radius>;
  using V = Vector<T>;
  const int lane = static_cast<int>(threadIdx.x), tile = static_cast<int>(blockIdx.x % across),
            line = static_cast<int>(blockIdx.x / across);
  const Around &along_z = p.around[0], &along_y = p.around[1], &along_x = p.around[2];
  const int x = p.first_x + (tile * (lanes - 2 * helpers) + lane - helpers) * length;
  const int y =
      along_y.low + (line % static_cast<int>(down) * warps + static_cast<int>(threadIdx.y)) * rows;
  const int z0 = along_z.low + line / static_cast<int>(down) * p.march,
            z1 = min(z0 + p.march, along_z.high);
  if (y >= along_y.high) return;  // uniform over the warp
  const bool inside = x >= along_x.low && x + length <= along_x.high;
  int place_x[length], place_y[rows + 2 * radius];
#pragma unroll
  for (int e = 0; e < length; ++e) place_x[e] = along_x.place(x + e);
#pragma unroll
  for (int k = 0; k < rows + 2 * radius; ++k)
    place_y[k] = along_y.place(y + k - radius) * p.stride_y;
  const auto plane = [&](int z) { return p.in + along_z.place(z) * p.stride_z; };
  const auto load = [&](const T* from, int k) {
    const T* const row = from + place_y[k];
    if (inside) return load_vector(row + x);
    V v;
#pragma unroll
    for (int e = 0; e < length; ++e) v.at[e] = __ldg(row + place_x[e]);
    return v;
  };

  V of[2 * radius + 1][rows], next[rows];
#pragma unroll
  for (int k = 0; k < 2 * radius; ++k) {
#pragma unroll
    for (int j = 0; j < rows; ++j) of[k][j] = load(plane(z0 - radius + k), radius + j);
  }
#pragma unroll
  for (int j = 0; j < rows; ++j) next[j] = load(plane(z0 + radius), radius + j);
  for (int z = z0; z < z1; ++z) {
    V adjacent[2 * radius];
    const T* const here = plane(z);
#pragma unroll
    for (int k = 0; k < radius; ++k) {
      adjacent[k] = load(here, k);
      adjacent[radius + k] = load(here, radius + rows + k);
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) of[2 * radius][j] = next[j];
#pragma unroll
    for (int j = 0; j < rows; ++j) next[j] = load(plane(z + radius + 1), radius + j);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      T wide[length + 2 * radius];
      widen<radius>(of[radius][j], wide);
      const auto row = [&](int k, int e) {  // the vector k rows away
        return j + k < 0       ? adjacent[radius + j + k].at[e]
               : j + k >= rows ? adjacent[radius + j + k - rows].at[e]
                               : of[radius][j + k].at[e];
      };
      V sum;
#pragma unroll
      for (int e = 0; e < length; ++e) {
        const T* w = p.weight;
        T s = w[0] * of[0][j].at[e];
#pragma unroll
        for (int k = 1; k < radius; ++k) s = fma(w[k], of[k][j].at[e], s);
#pragma unroll
        for (int k = 0; k < radius; ++k) s = fma(w[radius + k], row(k - radius, e), s);
#pragma unroll
        for (int k = 0; k <= 2 * radius; ++k) s = fma(w[2 * radius + k], wide[e + k], s);
#pragma unroll
        for (int k = 1; k <= radius; ++k) s = fma(w[4 * radius + k], row(k, e), s);
#pragma unroll
        for (int k = 1; k <= radius; ++k) s = fma(w[5 * radius + k], of[radius + k][j].at[e], s);
        sum.at[e] = s;
      }
      if (lane >= helpers && lane < lanes - helpers && y + j < along_y.high)
        store_part(p.out + z * p.stride_z + (y + j) * p.stride_y + x, x, along_x.low, along_x.high,
                   sum);
    }
#pragma unroll
    for (int k = 0; k < 2 * radius; ++k) {
#pragma unroll
      for (int j = 0; j < rows; ++j) of[k][j] = of[k + 1][j];
    }
  }
}

template <int radius, class T>
void launch(const Space<T>& p, DeviceStream stream) {
  constexpr int wide = (lanes - 2 * helping_lanes<T, radius>)*vector_length<T>;
  const index_t across = ceil_div(p.around[2].high - p.first_x, wide),
                down = ceil_div(p.around[1].high - p.around[1].low, warps * rows),
                deep = ceil_div(p.around[0].high - p.around[0].low, p.march);
  const auto blocks = narrow<unsigned>(
      checked_mul(checked_mul(across, down, "size of a launch"), deep, "size of a launch"));
  far_star<radius><<<blocks, dim3(lanes, warps), 0, stream>>>(p, static_cast<unsigned>(across),
                                                              static_cast<unsigned>(down));
  check_launch();
}

}  // namespace

template <class T>
bool steps_far(const DeviceSweep<T>& s) {
  return s.dims == 3 && s.star > 1 && !s.hollow && !s.two_levels &&
         s.stride[0] <= std::numeric_limits<int>::max();
}

template <class T>
void far_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
              DeviceStream stream) {
  Space<T> p{
      in, out, s.stride[0], static_cast<int>(s.stride[1]), narrow<int>(march > 0 ? march : 32),
      {}, 0,   {}};
  for (int d = 0; d < 3; ++d) p.around[d] = around_of(s, region, d);
  p.first_x = narrow<int>(aligned_below<T>(region.low[2]));
  std::copy_n(s.weight, 6 * largest_square + 1, p.weight);
  if (s.star == 2) launch<2>(p, stream);
  if (s.star == 3) launch<3>(p, stream);
  if (s.star == 4) launch<4>(p, stream);
}

template bool steps_far(const DeviceSweep<float>&);
template bool steps_far(const DeviceSweep<double>&);
template void far_step(const DeviceSweep<float>&, const float*, float*, const Region&, index_t,
                       DeviceStream);
template void far_step(const DeviceSweep<double>&, const double*, double*, const Region&, index_t,
                       DeviceStream);

void add_far_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const std::string& type, T) {
    to.push_back(machine::device_function("cuda_streaming",
                                          type + ", three dimensions, star of radius 2",
                                          far_star<2, T>, lanes * warps));
    to.push_back(machine::device_function("cuda_streaming",
                                          type + ", three dimensions, star of radius 4",
                                          far_star<4, T>, lanes * warps));
  };
  add("f32", 0.0F);
  add("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
