// One thread per point: in row order, in columns, in boustrophedon columns, and from a tile in
// shared memory.

#include <algorithm>
#include <string>

#include "kernels/cuda_code.hpp"
#include "kernels/stencil/cuda_device.cuh"
#include "kernels/stencil/remap.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// Stores a point's new value and updates its ghosts, inlined: a function that is called would read
/// the sweep, an argument of the kernel, by loads that counters show as global ones.
template <class T>
__device__ __forceinline__ void put_here(const DeviceSweep<T>& s, T* level, index_t z, index_t y,
                                         index_t x, T value) {
  level[z * s.stride[0] + y * s.stride[1] + x] = value;
  if (!s.plain({{z, y, x}})) publish_here(s, level, z, y, x, value);
}

template <class Shape, class T>
__device__ __forceinline__ void compute_point(const DeviceSweep<T>& s, const T* in, T* out,
                                              index_t z, index_t y, index_t x) {
  put_here(s, out, z, y, x, value_after<Shape>(s, in, out, z, y, x));
}

template <class Shape, class T>
__global__ void point_a_thread(const __grid_constant__ DeviceSweep<T> s, const T* in, T* out,
                               Region region, Blocks blocks) {
  const uint3 block = block_place(blocks);
  const index_t x = region.low[2] + static_cast<index_t>(block.x) * blockDim.x + threadIdx.x;
  const index_t y = region.low[1] + static_cast<index_t>(block.y) * blockDim.y + threadIdx.y;
  if (x < region.high[2] && y < region.high[1])
    compute_point<Shape>(s, in, out, region.low[0] + block.z, y, x);
}

/// Computes point number i of the walk in thread number i of a plane.
template <class Shape, class I, class T>
__global__ void point_of_walk(const __grid_constant__ DeviceSweep<T> s, const T* in, T* out,
                              Region region, unsigned blocks_a_plane, Order order, I width) {
  const unsigned plane = blockIdx.x / blocks_a_plane;
  const I i = static_cast<I>(blockIdx.x % blocks_a_plane) * static_cast<I>(blockDim.x) +
              static_cast<I>(threadIdx.x);
  const I wide = static_cast<I>(region.size(2)), high = static_cast<I>(region.size(1));
  if (i >= wide * high) return;
  const PlaceOf<I> place = place_of<I>(order, i, width, wide, high);
  compute_point<Shape>(s, in, out, region.low[0] + plane,
                       region.low[1] + static_cast<index_t>(place.y),
                       region.low[2] + static_cast<index_t>(place.x));
}

extern __shared__ unsigned char shared_bytes[];

/// Computes a block's points from a shared-memory tile that includes the stencil's halo.
template <class Shape, class T>
__global__ void point_of_tile(const __grid_constant__ DeviceSweep<T> s, const T* in, T* out,
                              Region region, Blocks blocks) {
  T* tile = reinterpret_cast<T*>(shared_bytes);
  const uint3 block = block_place(blocks);
  const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y),
            bz = static_cast<int>(blockDim.z);
  const int rx = static_cast<int>(s.radius[2]), ry = static_cast<int>(s.radius[1]),
            rz = static_cast<int>(s.radius[0]);
  const int row = bx + 2 * rx, rows = by + 2 * ry, plane = rows * row;
  const index_t x0 = region.low[2] + static_cast<index_t>(block.x) * bx,
                y0 = region.low[1] + static_cast<index_t>(block.y) * by,
                z0 = region.low[0] + static_cast<index_t>(block.z) * bz;
  for (int z = static_cast<int>(threadIdx.z); z < bz + 2 * rz; z += bz) {
    for (int y = static_cast<int>(threadIdx.y); y < rows; y += by) {
      for (int x = static_cast<int>(threadIdx.x); x < row; x += bx) {
        // Threads past the last point that any thread needs load another point.
        const index_t from_z = min(z0 + z - rz, region.high[0] - 1 + rz),
                      from_y = min(y0 + y - ry, region.high[1] - 1 + ry),
                      from_x = min(x0 + x - rx, region.high[2] - 1 + rx);
        tile[z * plane + y * row + x] =
            load_once(in + from_z * s.stride[0] + from_y * s.stride[1] + from_x);
      }
    }
  }
  __syncthreads();
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y),
            tz = static_cast<int>(threadIdx.z);
  const index_t x = x0 + tx, y = y0 + ty, z = z0 + tz;
  if (x >= region.high[2] || y >= region.high[1] || z >= region.high[0]) return;
  const T* u = tile + (tz + rz) * plane + (ty + ry) * row + tx + rx;
  const Arithmetic<T> sum = Shape::value(s, [&](index_t dz, index_t dy, index_t dx) {
    return computed(
        u[static_cast<int>(dz) * plane + static_cast<int>(dy) * row + static_cast<int>(dx)]);
  });
  put_here(s, out, z, y, x, finished(s, sum, out + z * s.stride[0] + y * s.stride[1] + x));
}

/// Calls step(shape, in, out, region) for every step.
template <class T, class Step>
int step_by_step(const DeviceSweep<T>& s, const Step& step) {
  for (index_t done = 0; done < s.steps; ++done) {
    const Region region = s.valid(done + 1);
    if (region.empty()) continue;
    dispatch_shape(
        s, [&](auto shape) { step(shape, s.level[done % 2], s.level[(done + 1) % 2], region); });
    check_launch();
  }
  return static_cast<int>(s.steps % 2);
}

/// Returns the threads per block: the requested number, rounded up to a multiple of the warp size
/// of 32.
unsigned threads_of(const Tuning& tuning) {
  const index_t wanted = tuning.block > 0 ? tuning.block : 256;
  return static_cast<unsigned>(std::clamp<index_t>(round_up(wanted, 32), 32, 1024));
}

template <class T>
int walk_by_points(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream,
                   Order order) {
  const unsigned threads = threads_of(tuning);
  const index_t width = tuning.column > 0 ? tuning.column : 32;
  return step_by_step(s, [&](auto shape, const T* in, T* out, const Region& region) {
    using Shape = decltype(shape);
    const index_t points = checked_mul(region.size(1), region.size(2), "size of a plane");
    const unsigned blocks = narrow<unsigned>(ceil_div(points, index_t{threads}));
    const unsigned all = narrow<unsigned>(checked_mul(blocks, region.size(0), "size of a launch"));
    // Products of a height and a column width must fit as well.
    const index_t most =
        checked_mul(region.size(1), region.size(2) + width, "size of a plane") + threads;
    if (most < index_t{1} << 32) {
      point_of_walk<Shape, unsigned><<<all, threads, 0, stream>>>(s, in, out, region, blocks, order,
                                                                  static_cast<unsigned>(width));
    } else {
      point_of_walk<Shape, index_t>
          <<<all, threads, 0, stream>>>(s, in, out, region, blocks, order, width);
    }
  });
}

constexpr index_t most_tile_bytes = 96 << 10;  // two blocks per multiprocessor

/// Returns the (z, y, x) points of a block's tile.
template <class T>
Index3 tile_of(const DeviceSweep<T>& s, const Tuning& tuning) {
  const index_t x = std::clamp<index_t>(tuning.tile_x > 0 ? tuning.tile_x
                                        : s.dims == 1     ? 256
                                                          : 32,
                                        1, 1024);
  const index_t y =
      s.dims == 1 ? 1 : std::clamp<index_t>(tuning.tile_y > 0 ? tuning.tile_y : 8, 1, 1024 / x);
  return {{s.dims == 3 ? std::clamp<index_t>(512 / (x * y), 1, 4) : 1, y, x}};
}

/// Returns the shared memory of a tile with its halo, in bytes.
template <class T>
index_t tile_bytes(const DeviceSweep<T>& s, const Index3& tile) {
  index_t bytes = static_cast<index_t>(sizeof(T));
  for (int d = 0; d < 3; ++d) bytes *= tile[d] + 2 * s.radius[d];
  return bytes;
}

}  // namespace

template <class T>
int cuda_naive(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  const unsigned threads = threads_of(tuning);
  const dim3 block = s.dims == 1 ? dim3(threads) : dim3(32, threads / 32);
  return step_by_step(s, [&](auto shape, const T* in, T* out, const Region& region) {
    const Blocks blocks = blocks_of(region, {{1, block.y, block.x}});
    point_a_thread<decltype(shape)>
        <<<blocks.count(), block, 0, stream>>>(s, in, out, region, blocks);
  });
}

template <class T>
int cuda_column(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  return walk_by_points(s, tuning, stream, Order::column);
}
template <class T>
int cuda_zigzag(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  return walk_by_points(s, tuning, stream, Order::zigzag);
}

template <class T>
int cuda_tiled(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream stream) {
  const Index3 tile = tile_of(s, tuning);
  const index_t bytes = tile_bytes(s, tile);
  if (bytes > std::min(most_tile_bytes, kernels::shared_bytes_per_block()))
    return cuda_naive(s, tuning, stream);  // no tile holds the halo
  const dim3 block(static_cast<unsigned>(tile[2]), static_cast<unsigned>(tile[1]),
                   static_cast<unsigned>(tile[0]));
  return step_by_step(s, [&](auto shape, const T* in, T* out, const Region& region) {
    const auto kernel = point_of_tile<decltype(shape), T>;
    machine::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(bytes)),
                         "cudaFuncSetAttribute");
    const Blocks blocks = blocks_of(region, tile);
    kernel<<<blocks.count(), block, static_cast<std::size_t>(bytes), stream>>>(s, in, out, region,
                                                                               blocks);
  });
}

#define TESSERA_INSTANTIATE(variant)                                            \
  template int variant(const DeviceSweep<Half>&, const Tuning&, DeviceStream);  \
  template int variant(const DeviceSweep<float>&, const Tuning&, DeviceStream); \
  template int variant(const DeviceSweep<double>&, const Tuning&, DeviceStream)
TESSERA_INSTANTIATE(cuda_naive);
TESSERA_INSTANTIATE(cuda_column);
TESSERA_INSTANTIATE(cuda_zigzag);
TESSERA_INSTANTIATE(cuda_tiled);
#undef TESSERA_INSTANTIATE

void add_textbook_functions(std::vector<machine::DeviceFunction>& to) {
  const Tuning usual;
  const auto add = [&]<class Shape, class T>(const std::string& of, Shape, T,
                                             const DeviceSweep<T>& s) {
    const int threads = static_cast<int>(threads_of(usual));
    to.push_back(machine::device_function("cuda_naive", of, point_a_thread<Shape, T>, threads));
    for (const char* walk : {"cuda_column", "cuda_zigzag"})
      to.push_back(machine::device_function(walk, of, point_of_walk<Shape, unsigned, T>, threads));
    const Index3 tile = tile_of(s, usual);
    to.push_back(machine::device_function("cuda_tiled", of, point_of_tile<Shape, T>,
                                          static_cast<int>(tile[0] * tile[1] * tile[2]),
                                          tile_bytes(s, tile)));
  };
  const auto of_type = [&]<class T>(const std::string& type, T zero) {
    DeviceSweep<T> plane, solid;
    plane.radius = {{0, 1, 1}};
    solid.dims = 3;
    solid.radius = {{1, 1, 1}};
    add(type + ", star in two dimensions", StarShape<2>{}, zero, plane);
    add(type + ", star in three dimensions", StarShape<3>{}, zero, solid);
    add(type + ", box of radius 1", BoxShape<1>{}, zero, plane);
    add(type + ", any", AnyShape{}, zero, plane);
  };
  of_type("f16", Half(0));
  of_type("f32", 0.0F);
  of_type("f64", 0.0);
}

}  // namespace tessera::inline v1::stencil
