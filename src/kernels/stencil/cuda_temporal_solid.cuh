#pragma once
// Several steps per pass in three dimensions: tiles of x and y, walked along z by blocks. Compiled
// once per type, because compilation is slow.

#include <algorithm>
#include <cmath>

#include "kernels/stencil/cuda_solid_march.cuh"

namespace tessera::inline v1::stencil {

template <class T, int steps>
constexpr int solid_threads = 32 * SolidShape<T, steps>::warps;
template <class T, int steps>
constexpr int solid_bytes = sizeof(typename SolidMarch<T, steps, false, false, false>::Shared);

/// Returns solid_bytes for a run-time number of steps.
template <class T>
index_t solid_shared_bytes(index_t steps) {
  return steps == 2 ? solid_bytes<T, 2> : steps == 3 ? solid_bytes<T, 3> : solid_bytes<T, 4>;
}

template <class T, int steps, bool hollow, bool general>
__global__ void __launch_bounds__(solid_threads<T, steps>, 1)
    solid_pass(const __grid_constant__ Pass<T> p) {
  const auto place = [](const Tiles& tiles, index_t i, int& low, int& high) {
    low = static_cast<int>(tiles.low(i));
    high = static_cast<int>(tiles.high(i));
    return tiles.start(i);
  };
  const index_t tile_x = blockIdx.x % p.tiles[2].count, row = blockIdx.x / p.tiles[2].count;
  const index_t tile_y = row % p.tiles[1].count, chunk = row / p.tiles[1].count;
  KeptSolid kept;
  const index_t x0 = place(p.tiles[2], tile_x, kept.low_x, kept.high_x),
                y0 = place(p.tiles[1], tile_y, kept.low_y, kept.high_y);
  place(p.tiles[0], chunk, kept.low, kept.high);
  const bool edges =
      at_end(p.axis[2], x0, x0 + p.tiles[2].span) || at_end(p.axis[1], y0, y0 + p.tiles[1].span);
  int first = kept.low - steps;
  if (p.axis[0].edge[0]) first = max(first, static_cast<int>(p.axis[0].begin) - 1);
  if (edges) {
    SolidMarch<T, steps, hollow, general, true>(p, static_cast<int>(x0), static_cast<int>(y0),
                                                first, kept)
        .run();
  } else {
    SolidMarch<T, steps, hollow, general, false>(p, static_cast<int>(x0), static_cast<int>(y0),
                                                 first, kept)
        .run();
  }
}

/// Returns the number of chunks of an axis with the least estimated time: the planes that each
/// walks times the waves of resident blocks. Chunks at the field's ends take longer, by a third in
/// the last wave.
[[nodiscard]] inline index_t quickest_chunks(const Axis& axis, index_t steps, index_t others,
                                             index_t resident) {
  const index_t size = axis.out_end - axis.out_begin;
  index_t best = 1;
  double least = 0;
  for (index_t chunks = 1; chunks == 1 || chunks * 4 * steps <= size; ++chunks) {
    const double full = static_cast<double>(others * chunks) / static_cast<double>(resident);
    const double planes = std::max(std::ceil(full), full + 1.0 / 3) *
                          static_cast<double>(ceil_div(size, chunks) + 2 * steps);
    if (chunks == 1 || planes < least) {
      best = chunks;
      least = planes;
    }
  }
  return best;
}

/// Sets the tiles of a pass along x and y.
template <class T, int steps>
void cut_tiles(Pass<T>& p) {
  using Shape = SolidShape<T, steps>;
  constexpr index_t length = Shape::length;
  p.tiles[2] = tiles_of(p.axis[2], 32 * length, round_up(steps, length), length);
  p.tiles[1] = tiles_of(p.axis[1], Shape::warps * Shape::rows, steps, 1);
}

/// Returns whether some side is constant, or the last tile does not end with the field.
template <class T>
[[nodiscard]] bool is_general(const Pass<T>& p) {
  for (const int d : {0, 1, 2}) {
    const Axis& axis = p.axis[d];
    for (const int side : {0, 1}) {
      if (axis.edge[side] && axis.constant(side)) return true;
    }
    const Tiles& tiles = p.tiles[d];
    if (d > 0 && axis.edge[1] && tiles.start(tiles.count - 1) + tiles.span != axis.end) return true;
  }
  return false;
}

template <class T, int steps, bool hollow, bool general>
void launch_solid(Pass<T> p, const Tuning& tuning, DeviceStream stream) {
  constexpr int bytes = solid_bytes<T, steps>;
  const auto kernel = solid_pass<T, steps, hollow, general>;
  machine::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "cudaFuncSetAttribute");
  const index_t others = checked_mul(p.tiles[1].count, p.tiles[2].count, "size of a launch");
  const index_t resident = resident_blocks(kernel, solid_threads<T, steps>, bytes);
  const index_t chunks = tuning.march > 0
                             ? chunks_to_fill(p.axis[0], steps, others, resident, tuning.march)
                             : quickest_chunks(p.axis[0], steps, others, resident);
  p.tiles[0] = chunks_of(p.axis[0], steps, chunks);
  const index_t blocks = checked_mul(others, p.tiles[0].count, "size of a launch");
  kernel<<<narrow<unsigned>(blocks), dim3(32, SolidShape<T, steps>::warps), bytes, stream>>>(p);
}

template <class T>
void march_solid(const DeviceSweep<T>& s, int from, index_t done, index_t steps,
                 const Tuning& tuning, DeviceStream stream) {
  Pass<T> p = pass_of(s, from, done, steps);
  const auto launch = [&]<int length>() {
    if (steps != length) return;
    cut_tiles<T, length>(p);
    const auto choose = [&](auto hollow) {
      if (is_general(p)) {
        launch_solid<T, length, hollow, true>(p, tuning, stream);
      } else {
        launch_solid<T, length, hollow, false>(p, tuning, stream);
      }
    };
    if (s.hollow) {
      choose(std::true_type{});
    } else {
      choose(std::false_type{});
    }
  };
  launch.template operator()<2>();
  launch.template operator()<3>();
  launch.template operator()<4>();
  check_launch();
}

template <class T>
void add_temporal_solid_functions(const std::string& type,
                                  std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<int steps>(std::integral_constant<int, steps>) {
    to.push_back(machine::device_function(
        "cuda_temporal", type + ", three dimensions, " + std::to_string(steps) + " steps",
        solid_pass<T, steps, false, false>, solid_threads<T, steps>, solid_bytes<T, steps>));
  };
  add(std::integral_constant<int, 2>{});
  add(std::integral_constant<int, 3>{});
  add(std::integral_constant<int, 4>{});
}

}  // namespace tessera::inline v1::stencil
