// Transposition at the rate of a copy: tiles of whole lines on both sides, moved by 16-byte vectors
// through shared memory, several in flight on every multiprocessor, for any alignment of rows.

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/transpose/cuda_vectors.cuh"

namespace tessera::inline v1::transpose {
namespace {

struct Launch {
  TurnTask task;
  unsigned tiles, total;  ///< total: tiles of all repetitions
};

/// Moves one tile per block, so other resident blocks hide its latency; with repetitions, tiles
/// blockIdx.x, + gridDim.x, ...
template <class Tile, bool in_on_vectors, int window>
__global__ void __launch_bounds__(Tile::threads) vectorized(Launch launch) {
  extern __shared__ __align__(128) std::byte tile[];
  const DeviceMove move(tile);
  const int thread = static_cast<int>(threadIdx.x);
  for (unsigned number = blockIdx.x; number < launch.total; number += gridDim.x) {
    const TilePart part = part_of<Tile, window>(launch.task, number % launch.tiles);
    load_vectors<Tile, in_on_vectors, window>(thread, part, move);
    load_ends<Tile, window>(thread, part, move);
    kernels::wait_for_copies();
    __syncthreads();
    if constexpr (window == 0)
      store_patches<Tile, in_on_vectors>(thread, part, move);
    else
      store_windows<Tile, in_on_vectors, window>(thread, part, move);
    if (number + gridDim.x < launch.total) __syncthreads();  // before the tile is overwritten
  }
}

/// Returns the number of resident blocks of a kernel on the device.
template <class Kernel>
unsigned resident(Kernel* kernel, int threads, int bytes) {
  int blocks = 0;
  machine::cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, kernel, threads, static_cast<std::size_t>(bytes)),
                       "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<unsigned>(std::max(1, blocks) *
                               machine::cuda::attribute(cudaDevAttrMultiProcessorCount));
}

template <class Tile, bool in_on_vectors, int window>
void launch(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  constexpr int extra = extra_rows<Tile>(window), bytes = Tile::size(extra);
  const auto kernel = vectorized<Tile, in_on_vectors, window>;
  const index_t down = ceil_div(a.rows + extra, Tile::rows), right = ceil_div(a.cols, Tile::cols);
  const unsigned tiles = grid_of(down * right), total = grid_of(down * right * plan.repeats);
  machine::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "cudaFuncSetAttribute");
  const unsigned blocks =
      plan.repeats == 1 ? total : std::min(total, resident(kernel, Tile::threads, bytes));
  const TurnTask task{
      a.data, a.stride(), b.data, b.stride(), a.rows, a.cols, static_cast<unsigned>(down)};
  kernel<<<blocks, Tile::threads, bytes, stream>>>({task, tiles, total});
  machine::cuda::check(cudaGetLastError(), "transpose kernel");
}

constexpr int sector = 32;  // minimum access of memory, in bytes

template <class Tile>
void launch_aligned(const ConstRecords& a, const Records& b, const VectorPlan& plan,
                    DeviceStream stream) {
  const bool in = rows_on_vectors(a), out = rows_on_vectors(b);
  if constexpr (Tile::bytes == 16)  // records are vectors
    launch<Tile, true, 0>(a, b, plan, stream);
  else if (out)
    in ? launch<Tile, true, 0>(a, b, plan, stream) : launch<Tile, false, 0>(a, b, plan, stream);
  else
    in ? launch<Tile, true, sector>(a, b, plan, stream)
       : launch<Tile, false, sector>(a, b, plan, stream);
}

template <int bytes, std::size_t... number>
void launch_planned(const ConstRecords& a, const Records& b, const VectorPlan& plan,
                    DeviceStream stream, std::index_sequence<number...>) {
  const auto fits = [&]<std::size_t which>(std::integral_constant<std::size_t, which>) {
    constexpr Tiling t = tilings<bytes>[which];
    if (plan.tiling != t) return false;
    launch_aligned<TurnTile<bytes, t.in, t.out, t.threads>>(a, b, plan, stream);
    return true;
  };
  require((fits(std::integral_constant<std::size_t, number>{}) || ...), ExitCode::internal,
          "device kernel of the planned tile does not exist");
}

/// Appends one function per tiling for rows aligned to vectors on both sides, and one for rows
/// aligned on neither.
template <int bytes, std::size_t... number>
void add_functions(std::vector<machine::DeviceFunction>& to, std::index_sequence<number...>) {
  const auto add = [&]<std::size_t which>(std::integral_constant<std::size_t, which>) {
    constexpr Tiling t = tilings<bytes>[which];
    using Tile = TurnTile<bytes, t.in, t.out, t.threads>;
    const std::string of = "records of " + std::to_string(bytes) + " bytes, tiles of " +
                           std::to_string(t.in) + " x " + std::to_string(t.out) + " bytes";
    to.push_back(machine::device_function("cuda_vectorized", of, vectorized<Tile, true, 0>,
                                          t.threads, Tile::size(extra_rows<Tile>(0))));
    if constexpr (bytes < 16) {
      to.push_back(machine::device_function("cuda_vectorized", of + ", unaligned rows",
                                            vectorized<Tile, false, sector>, t.threads,
                                            Tile::size(extra_rows<Tile>(sector))));
    }
  };
  (add(std::integral_constant<std::size_t, number>{}), ...);
}

}  // namespace

void run_vectorized(const ConstRecords& a, const Records& b, const VectorPlan& plan,
                    DeviceStream stream) {
  if (a.empty()) return;
  dispatch_word(a.bytes, [&]<class T>(Type<T>) {
    constexpr auto bytes = static_cast<int>(sizeof(T));
    launch_planned<bytes>(a, b, plan, stream, std::make_index_sequence<tilings<bytes>.size()>{});
  });
}

void cuda_vectorized(const ConstRecords& a, const Records& b, const Tuning&, DeviceStream stream) {
  if (a.empty()) return;
  if (!has_leaf(a.bytes)) return transpose_plainly(a, b, stream);
  run_vectorized(a, b, vector_plan(a, b, machine::cuda::attribute(cudaDevAttrMultiProcessorCount)),
                 stream);
}

void add_vectorized_functions(std::vector<machine::DeviceFunction>& to) {
  add_functions<1>(to, std::make_index_sequence<tilings<1>.size()>{});
  add_functions<2>(to, std::make_index_sequence<tilings<2>.size()>{});
  add_functions<4>(to, std::make_index_sequence<tilings<4>.size()>{});
  add_functions<8>(to, std::make_index_sequence<tilings<8>.size()>{});
  add_functions<16>(to, std::make_index_sequence<tilings<16>.size()>{});
}

}  // namespace tessera::inline v1::transpose
