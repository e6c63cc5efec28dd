// The transpose at the rate of a copy: tiles of whole lines on both sides, moved by vectors of 16 bytes
// through swizzled shared memory, several in flight on every multiprocessor.

#include "kernels/transpose/cuda_vectors.cuh"

namespace tessera::transpose {
namespace {

struct Task {
  const Byte* a;
  index_t a_stride;
  Byte* b;
  index_t b_stride;
  index_t rows, cols;   ///< of a
  index_t down, right;  ///< tiles
  unsigned total;       ///< tiles to do, repetitions among them
  TileWalk walk;
  Store store;
};

template <class Tile>
__device__ __forceinline__ TilePart part_of(const Task& task, unsigned number) {
  const index_t tiles = task.down * task.right;
  const Cell cell = tile_of(task.walk, number % tiles, task.down, task.right);
  const index_t i = cell.i * Tile::edge, j = cell.j * Tile::edge;
  return {task.a + i * task.a_stride + j * Tile::bytes,
          task.a_stride,
          task.b + j * task.b_stride + i * Tile::bytes,
          task.b_stride,
          static_cast<int>(min(task.rows - i, index_t{Tile::edge})),
          static_cast<int>(min(task.cols - j, index_t{Tile::edge}))};
}

/// The tiles blockIdx.x, + gridDim.x, ... through a ring of `stages` tiles in shared memory: while one is
/// stored, the next ones are on their way. One stage: a tile at a time, other blocks fill the wait.
template <class Tile, bool vectors_in, Out out, int stages>
__global__ void __launch_bounds__(Tile::threads) vectorized(Task task) {
  extern __shared__ __align__(128) Byte ring[];  // (stages, tile)
  const auto load = [&](unsigned number, int stage) {
    if (number < task.total) {
      if constexpr (vectors_in)
        load_vectors<Tile>(ring + stage * Tile::size, part_of<Tile>(task, number));
      else
        load_records<Tile>(ring + stage * Tile::size, part_of<Tile>(task, number));
    }
    commit_copies();
  };
  constexpr int ahead = stages - 1;
  unsigned next = blockIdx.x;
#pragma unroll
  for (int stage = 0; stage < ahead; ++stage, next += gridDim.x) load(next, stage);
  int stage = 0, empty = ahead;
  for (unsigned number = blockIdx.x; number < task.total; number += gridDim.x) {
    if constexpr (stages == 1) load(number, 0);
    wait_for_copies<stages == 1 ? 0 : stages - 2>();
    __syncthreads();  // the tile is there for all, and nobody reads the one before any more
    if constexpr (stages > 1) {
      load(next, empty);
      next += gridDim.x;
    }
    const TilePart part = part_of<Tile>(task, number);
    if constexpr (out == Out::vectors)
      store_vectors<Tile>(ring + stage * Tile::size, part, task.store);
    else
      store_records<Tile>(ring + stage * Tile::size, part);
    if constexpr (stages == 1) __syncthreads();
    stage = stage + 1 == stages ? 0 : stage + 1;
    empty = empty + 1 == stages ? 0 : empty + 1;
  }
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  machine::cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  machine::cuda::check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

/// Blocks of a kernel that run at once.
template <class Kernel>
unsigned resident(Kernel* kernel, int threads, int bytes) {
  int blocks = 0;
  machine::cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                                     static_cast<std::size_t>(bytes)),
                       "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<unsigned>(std::max(1, blocks) * attribute(cudaDevAttrMultiProcessorCount));
}

template <class Tile, bool vectors_in, Out out, int stages>
void launch(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  constexpr int bytes = stages * Tile::size;
  const auto kernel = vectorized<Tile, vectors_in, out, stages>;
  const index_t down = ceil_div(a.rows, Tile::edge), right = ceil_div(a.cols, Tile::edge);
  const unsigned total = grid_of(down * right * plan.repeats);
  machine::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                       "cudaFuncSetAttribute");
  const unsigned blocks =
      stages == 1 && plan.repeats == 1 ? total : std::min(total, resident(kernel, Tile::threads, bytes));
  const Task task{reinterpret_cast<const Byte*>(a.data),
                  a.stride(),
                  reinterpret_cast<Byte*>(b.data),
                  b.stride(),
                  a.rows,
                  a.cols,
                  down,
                  right,
                  total,
                  plan.walk,
                  plan.store};
  kernel<<<blocks, Tile::threads, bytes, stream>>>(task);
  machine::cuda::check(cudaGetLastError(), "transpose kernel");
}

/// Rings of more than 128 KiB fit no multiprocessor before Hopper.
template <class Tile, bool vectors_in, Out out>
void launch_stages(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  constexpr int most = std::min(3, (128 << 10) / Tile::size);
  if (plan.stages == 1) return launch<Tile, vectors_in, out, 1>(a, b, plan, stream);
  if (plan.stages == 2) return launch<Tile, vectors_in, out, 2>(a, b, plan, stream);
  launch<Tile, vectors_in, out, most>(a, b, plan, stream);
}

template <int bytes, int segment>
void launch_aligned(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  const bool vectors_in = rows_on_vectors(a), vectors_out = rows_on_vectors(b);
  if (vectors_in && vectors_out)
    return launch_stages<TurnTile<bytes, segment, Out::vectors>, true, Out::vectors>(a, b, plan, stream);
  if constexpr (bytes < 16) {  // records of 16 bytes are vectors
    if (vectors_out)
      return launch<TurnTile<bytes, segment, Out::vectors>, false, Out::vectors, 1>(a, b, plan, stream);
    using Tile = TurnTile<bytes, segment, Out::records>;
    if (vectors_in) return launch<Tile, true, Out::records, 1>(a, b, plan, stream);
    launch<Tile, false, Out::records, 1>(a, b, plan, stream);
  }
}

template <int bytes>
void launch_sized(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  using Size = VectorPlan::Size;
  if (plan.size == Size::small)
    return launch_aligned<bytes, tile_segment(bytes, Size::small)>(a, b, plan, stream);
  launch_aligned<bytes, tile_segment(bytes, Size::large)>(a, b, plan, stream);
}

}  // namespace

void run_vectorized(const ConstRecords& a, const Records& b, const VectorPlan& plan, DeviceStream stream) {
  if (a.empty()) return;
  dispatch_word(a.bytes,
                [&]<class T>(Type<T>) { launch_sized<static_cast<int>(sizeof(T))>(a, b, plan, stream); });
}

void cuda_vectorized(const ConstRecords& a, const Records& b, const Tuning&, DeviceStream stream) {
  if (a.empty()) return;
  if (!has_leaf(a.bytes)) return transpose_plainly(a, b, stream);
  run_vectorized(a, b, vector_plan(a, b, attribute(cudaDevAttrMultiProcessorCount)), stream);
}

}  // namespace tessera::transpose
