// One step of a full star of radius 1 in two dimensions where no point has ghosts: nothing but loads,
// products and stores of 16 bytes, all loads of a thread on their way together. The frame around it is
// computed a thread a point, in one launch.
//
// On an H200 this is what reaches the speed of a copy; the same sums with the ghosts written beside them by
// cuda_streaming's own kernels stay below two thirds of it.

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/cuda_interior.hpp"

namespace tessera::stencil {
namespace {

constexpr int lanes = 32;

/// The interior, in vectors: its first point lies at `origin`, 32-bit offsets from there.
template <class T>
struct Interior {
  const T* in;
  T* out;
  int stride_y;
  int vectors, rows;  ///< along x, y
  T weight[5];
};

/// The values left and right of a vector: its neighbours' in the warp, from memory at the ends of the warp.
template <class T>
__device__ __forceinline__ void sides_of(const Vector<T>& here, const T* at, bool last, T& left, T& right) {
  constexpr int length = vector_length<T>;
  left = __shfl_up_sync(~0U, here.at[length - 1], 1);
  right = __shfl_down_sync(~0U, here.at[0], 1);
  if (threadIdx.x == 0) left = __ldg(at - 1);
  if (threadIdx.x == lanes - 1 || last) right = __ldg(at + length);
}

template <class T>
__device__ __forceinline__ T beside(const Vector<T>& here, T left, T right, int e) {
  return e < 0 ? left : e >= vector_length<T> ? right : here.at[e];
}

constexpr int warps = 8;  // of a block, stacked along y

template <int plane_rows, class T>
__device__ __forceinline__ void star_plane(const Interior<T>& p, int block) {
  constexpr int length = vector_length<T>;
  const int across = (p.vectors + lanes - 1) / lanes;
  const int column = block % across * lanes + static_cast<int>(threadIdx.x);
  const int y0 = (block / across * warps + static_cast<int>(threadIdx.y)) * plane_rows;
  if (y0 >= p.rows) return;
  const int vector = min(column, p.vectors - 1);  // all lanes stay for the exchange
  const int here = y0 * p.stride_y + vector * length;
  Vector<T> row[plane_rows + 2];
#pragma unroll
  for (int k = 0; k < plane_rows + 2; ++k)
    row[k] = load_vector(p.in + here + min(k - 1, p.rows - y0) * p.stride_y);
#pragma unroll
  for (int k = 0; k < plane_rows; ++k) {
    if (y0 + k >= p.rows) return;
    T left, right;
    sides_of(row[k + 1], p.in + here + k * p.stride_y, vector == p.vectors - 1, left, right);
    Vector<T> sum;
#pragma unroll
    for (int e = 0; e < length; ++e) {
      T s = p.weight[0] * row[k].at[e];
      s = fma(p.weight[1], beside(row[k + 1], left, right, e - 1), s);
      s = fma(p.weight[2], row[k + 1].at[e], s);
      s = fma(p.weight[3], beside(row[k + 1], left, right, e + 1), s);
      sum.at[e] = fma(p.weight[4], row[k + 2].at[e], s);
    }
    if (column < p.vectors) store_vectors(p.out + here + k * p.stride_y, sum);
  }
}

/// The region without the interior, in boxes of which the sizes add up.
struct Frame {
  static constexpr int most = 6;
  Region box[most];
  unsigned before[most + 1] = {};  ///< points of the boxes before: 32 bits divide faster
  int count = 0;
};
Frame frame_of(Region whole, const Region& inner) {
  Frame frame;
  const auto add = [&](const Region& box) {
    if (box.empty()) return;
    frame.box[frame.count] = box;
    frame.before[frame.count + 1] =
        frame.before[frame.count] + narrow<unsigned>(box.size(0) * box.size(1) * box.size(2));
    ++frame.count;
  };
  for (int d = 0; d < 3; ++d) {  // both ends along d of what is left between those before
    Region low = whole, high = whole;
    low.high[d] = whole.low[d] = inner.low[d];
    high.low[d] = whole.high[d] = inner.high[d];
    add(low);
    add(high);
  }
  return frame;
}

template <class Shape, class T>
__device__ __forceinline__ void frame_point(const DeviceSweep<T>& s, const T* in, T* out, const Frame& frame,
                                            unsigned point) {
  int box = 0;
  while (box < frame.count && point >= frame.before[box + 1]) ++box;
  if (box == frame.count) return;
  point -= frame.before[box];
  const Region& r = frame.box[box];
  const auto wide = static_cast<unsigned>(r.size(2)), high = static_cast<unsigned>(r.size(1)),
             row = point / wide;
  const index_t z = r.low[0] + row / high, y = r.low[1] + row % high, x = r.low[2] + point % wide;
  const T value = value_after<Shape>(s, in, out, z, y, x);
  out[s.place({{z, y, x}})] = value;
  if (!s.plain({{z, y, x}})) publish_here(s, out, z, y, x, value);
}

/// The frame by the first blocks, the interior by the others.
template <int plane_rows, class T>
__global__ void __launch_bounds__(lanes* warps)
    star_step(const __grid_constant__ DeviceSweep<T> s, const T* in, T* out,
              const __grid_constant__ Frame frame, int frame_blocks, const __grid_constant__ Interior<T> p) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < frame_blocks) {
    const int thread = static_cast<int>(threadIdx.y) * lanes + static_cast<int>(threadIdx.x);
    frame_point<StarShape<2>>(s, in, out, frame, static_cast<unsigned>(block * lanes * warps + thread));
  } else {
    star_plane<plane_rows>(p, block - frame_blocks);
  }
}

/// The points of the region that no ghost repeats, whole vectors along x.
template <class T>
Region interior_of(const DeviceSweep<T>& s, Region region) {
  constexpr index_t length = vector_length<T>;
  for (int d = 0; d < 3; ++d) {
    region.low[d] = std::max(region.low[d], s.line[d].plain_begin);
    region.high[d] = std::min(region.high[d], s.line[d].plain_end);
  }
  region.low[2] = round_up(std::max<index_t>(region.low[2], 0), length);
  region.high[2] = region.high[2] / length * length;
  return region;
}

template <int plane_rows, class T>
void step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, const Region& inner,
          DeviceStream stream) {
  const index_t origin = s.place(inner.low);
  Interior<T> p{in + origin,
                out + origin,
                static_cast<int>(s.stride[1]),
                static_cast<int>(inner.size(2) / vector_length<T>),
                static_cast<int>(inner.size(1)),
                {}};
  std::copy_n(s.weight, 5, p.weight);
  const Frame frame = frame_of(region, inner);
  const index_t frame_blocks = ceil_div(index_t{frame.before[frame.count]}, lanes * warps);
  const index_t blocks = ceil_div(p.vectors, lanes) * ceil_div(p.rows, warps * plane_rows);
  star_step<plane_rows><<<narrow<unsigned>(frame_blocks + blocks), dim3(lanes, warps), 0, stream>>>(
      s, in, out, frame, narrow<int>(frame_blocks), p);
  check_launch();
}

}  // namespace

template <class T>
bool interior_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
                   DeviceStream stream) {
  if (s.star != 1 || s.hollow || s.two_levels || s.rule != Rule::linear || s.dims != 2) return false;
  const Region inner = interior_of(s, region);
  if (inner.empty()) return false;
  const index_t reach = (inner.size(1) + 2) * s.stride[1];
  if (reach > std::numeric_limits<int>::max()) return false;
  if (march > 0 ? march <= 4 : sizeof(T) == 8) {
    step<4>(s, in, out, region, inner, stream);
  } else if (march <= 8) {
    step<8>(s, in, out, region, inner, stream);
  } else {
    step<16>(s, in, out, region, inner, stream);
  }
  return true;
}

template bool interior_step(const DeviceSweep<float>&, const float*, float*, const Region&, index_t,
                            DeviceStream);
template bool interior_step(const DeviceSweep<double>&, const double*, double*, const Region&, index_t,
                            DeviceStream);

void add_interior_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<class T>(const std::string& type, T) {
    const auto step = [&](const std::string& of, auto* function) {
      to.push_back(machine::device_function("cuda_streaming", type + of, function, lanes * warps));
    };
    step(", star in two dimensions, 4 rows a thread", star_step<4, T>);
    step(", star in two dimensions, 8 rows a thread", star_step<8, T>);
    step(", star in two dimensions, 16 rows a thread", star_step<16, T>);
  };
  add("f32", 0.0F);
  add("f64", 0.0);
}

}  // namespace tessera::stencil
