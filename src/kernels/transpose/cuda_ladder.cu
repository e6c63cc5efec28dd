// The optimisation ladder of the literature (Ruetsch and Micikevicius 2009): from a copy and the
// naive transpose to coalesced accesses, shared memory without bank conflicts, and diagonal block
// order.

#include <array>

#include "kernels/cuda_code.cuh"
#include "kernels/transpose/cuda_device.cuh"

namespace tessera::inline v1::transpose {
namespace {

constexpr int edge = 32;         // of a tile, in records
constexpr int rows_at_once = 8;  // rows of a tile per step of a block of 32 x 8 threads

constexpr std::array<LadderRow, 8> rows_of_the_ladder{{
    {"cuda_copy", Step::copy, Makes::copy},
    {"cuda_copy_shared", Step::copy_shared, Makes::copy},
    {"cuda_naive", Step::naive, Makes::transpose},
    {"cuda_coalesced", Step::coalesced, Makes::transpose},
    {"cuda_conflict_free", Step::conflict_free, Makes::transpose},
    {"cuda_fine_grained", Step::fine_grained, Makes::part},
    {"cuda_coarse_grained", Step::coarse_grained, Makes::part},
    {"cuda_diagonal", Step::diagonal, Makes::transpose},
}};

TESSERA_HD constexpr bool is_direct(Step step) { return step == Step::copy || step == Step::naive; }
/// Returns whether a record changes its place within its tile.
TESSERA_HD constexpr bool turns_inside(Step step) {
  return step != Step::copy_shared && step != Step::coarse_grained;
}
/// Returns whether a tile changes its place in the matrix.
TESSERA_HD constexpr bool moves_tile(Step step) {
  return step != Step::copy && step != Step::copy_shared && step != Step::fine_grained;
}
/// Returns the row length of a tile in shared memory: padded against bank conflicts except in the
/// first steps.
TESSERA_HD constexpr int pitch_of(Step step) {
  return edge + (step == Step::copy_shared || step == Step::coalesced ? 0 : 1);
}

/// What a launch moves. Tile numbers have 32 bits: divisions of 64 bits take many instructions.
template <class T>
struct Task {
  MatrixView<const T> a;
  MatrixView<T> b;
  unsigned down, right;    ///< tiles
  unsigned count, stride;  ///< of Repeats; the stride is less than the number of tiles
};

/// The corners of a tile in a and of its place in b.
struct Place {
  index_t i, j, to_i, to_j;
};

template <Step step>
__device__ Place place_of(const Cell& cell) {
  const index_t i = cell.i * edge, j = cell.j * edge;
  return moves_tile(step) ? Place{i, j, j, i} : Place{i, j, i, j};
}

/// The records of a tile that the matrices have: its rows and columns in a, those of its place in
/// b.
struct Held {
  int rows, cols, to_rows, to_cols;
  __device__ bool everything() const {
    return rows == edge && cols == edge && to_rows == edge && to_cols == edge;
  }
};

/// Returns how many of edge indices from first are less than end.
__device__ inline int held(index_t first, index_t end) {
  const index_t rest = end - first;
  return rest < edge ? static_cast<int>(rest) : edge;
}
template <class T>
__device__ Held held_of(const Task<T>& task, const Place& at) {
  return {held(at.i, task.a.rows), held(at.j, task.a.cols), held(at.to_i, task.b.rows),
          held(at.to_j, task.b.cols)};
}

constexpr int each =
    edge / rows_at_once;  // records of a tile per thread; all are read before the first is written

/// Moves one thread's records of a tile without shared memory. whole: nothing is checked.
template <Step step, bool whole, class T>
__device__ void move_directly(const Task<T>& task, const Place& at, const Held& held) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const index_t i = at.i + y, j = at.j + x;
  const auto is_inside = [&](int k) {
    return whole || (y + k * rows_at_once < held.rows && x < held.cols);
  };
  const T* const from = &task.a(i, j);
  T record[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (is_inside(k)) record[k] = from[k * rows_at_once * task.a.ld];
  T* const to = step == Step::copy ? &task.b(i, j) : &task.b(j, i);
  const index_t next = step == Step::copy ? task.b.ld : 1;
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (is_inside(k)) to[k * rows_at_once * next] = record[k];
}

/// Moves a tile through shared memory (row, column of a), which is read transposed unless only the
/// tile's position changes. whole: nothing is checked.
template <Step step, bool whole, class T>
__device__ void move_through(const Task<T>& task, const Place& at, const Held& held,
                             T (&tile)[edge][pitch_of(step)]) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const T* const from = &task.a(at.i + y, at.j + x);
#pragma unroll
  for (int k = 0; k < edge; k += rows_at_once)
    if (whole || (y + k < held.rows && x < held.cols)) tile[y + k][x] = from[k * task.a.ld];
  __syncthreads();
  T record[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    record[k] = turns_inside(step) ? tile[x][y + k * rows_at_once] : tile[y + k * rows_at_once][x];
  T* const to = &task.b(at.to_i + y, at.to_j + x);
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int row = y + k * rows_at_once;
    // the record's row and column in the tile
    const int s = turns_inside(step) ? x : row, f = turns_inside(step) ? row : x;
    if (whole || (row < held.to_rows && x < held.to_cols && s < held.rows && f < held.cols))
      to[k * rows_at_once * task.b.ld] = record[k];
  }
  __syncthreads();  // before the next repetition
}

/// Blocks that a multiprocessor holds at least: all of its threads, with 32 registers each, but for
/// records of four words.
template <class T>
constexpr int blocks_held = kernels::at_most_resident(edge* rows_at_once, sizeof(T) <= 8 ? 8 : 4);

template <Step step, class T>
__global__ void __launch_bounds__(edge* rows_at_once, blocks_held<T>) ladder_step(Task<T> task) {
  const unsigned tiles = task.down * task.right;
  unsigned number = blockIdx.x;
  for (unsigned r = 0; r < task.count; ++r) {
    const Place at =
        place_of<step>(step == Step::diagonal ? diagonal_order(number, task.down, task.right)
                                              : row_order(number, task.right));
    const Held held = held_of(task, at);
    if constexpr (is_direct(step)) {
      if (held.everything()) {
        move_directly<step, true>(task, at, held);
      } else {
        move_directly<step, false>(task, at, held);
      }
    } else {
      __shared__ T tile[edge][pitch_of(step)];
      if (held.everything()) {
        move_through<step, true>(task, at, held, tile);
      } else {
        move_through<step, false>(task, at, held, tile);
      }
    }
    number += task.stride;
    if (number >= tiles) number -= tiles;
  }
}

template <Step step>
void launch(const ConstRecords& a, const Records& b, const Repeats& repeats, DeviceStream stream) {
  const index_t down = ceil_div(a.rows, edge), right = ceil_div(a.cols, edge);
  const unsigned blocks = grid_of(down * right);
  dispatch_word(a.bytes, [&]<class T>(Type<T>) {
    const Task<T> task{as_words<T>(a),
                       as_words<T>(b),
                       static_cast<unsigned>(down),
                       static_cast<unsigned>(right),
                       static_cast<unsigned>(repeats.count),
                       static_cast<unsigned>(repeats.stride % (down * right))};
    ladder_step<step><<<blocks, dim3(edge, rows_at_once), 0, stream>>>(task);
  });
  machine::cuda::check(cudaGetLastError(), "transpose kernel");
}

constexpr int plain_threads = 256;

/// Transposes records word by word; adjacent threads write adjacent words (coalesced stores).
template <class T>
__global__ void plain(MatrixView<const T> a, MatrixView<T> b, index_t rows, index_t cols,
                      int words) {
  const index_t step = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (step >= rows * cols * words) return;
  const index_t record = step / words, word = step % words;
  const index_t i = record % rows, j = record / rows;
  b(j, i * words + word) = a(i, j * words + word);
}

/// Runs a step as a variant: records of word size by the step, others by the plain kernel.
template <Step step>
void as_variant(const ConstRecords& a, const Records& b, DeviceStream stream) {
  if (a.empty()) return;
  if (!has_leaf(a.bytes)) return transpose_plainly(a, b, stream);
  launch<step>(a, b, {}, stream);
}

}  // namespace

void transpose_plainly(const ConstRecords& a, const Records& b, DeviceStream stream) {
  const index_t word = std::min<index_t>(a.bytes & -a.bytes, 16), count = a.bytes / word;
  const unsigned blocks = grid_of(ceil_div(a.rows * a.cols * count, plain_threads));
  dispatch_word(word, [&]<class T>(Type<T>) {
    auto from = as_words<T>(a);
    auto to = as_words<T>(b);
    from.ld *= count;
    to.ld *= count;
    plain<<<blocks, plain_threads, 0, stream>>>(from, to, a.rows, a.cols, static_cast<int>(count));
  });
  machine::cuda::check(cudaGetLastError(), "transpose kernel");
}

std::span<const LadderRow> compiled_ladder() { return rows_of_the_ladder; }

void run_step(Step step, const ConstRecords& a, const Records& b, const Repeats& repeats,
              DeviceStream stream) {
  if (a.empty()) return;
  switch (step) {
    case Step::copy:
      return launch<Step::copy>(a, b, repeats, stream);
    case Step::copy_shared:
      return launch<Step::copy_shared>(a, b, repeats, stream);
    case Step::naive:
      return launch<Step::naive>(a, b, repeats, stream);
    case Step::coalesced:
      return launch<Step::coalesced>(a, b, repeats, stream);
    case Step::conflict_free:
      return launch<Step::conflict_free>(a, b, repeats, stream);
    case Step::fine_grained:
      return launch<Step::fine_grained>(a, b, repeats, stream);
    case Step::coarse_grained:
      return launch<Step::coarse_grained>(a, b, repeats, stream);
    case Step::diagonal:
      return launch<Step::diagonal>(a, b, repeats, stream);
  }
}

void cuda_naive(const ConstRecords& a, const Records& b, const Tuning&, DeviceStream stream) {
  as_variant<Step::naive>(a, b, stream);
}
void cuda_coalesced(const ConstRecords& a, const Records& b, const Tuning&, DeviceStream stream) {
  as_variant<Step::coalesced>(a, b, stream);
}
void cuda_conflict_free(const ConstRecords& a, const Records& b, const Tuning&,
                        DeviceStream stream) {
  as_variant<Step::conflict_free>(a, b, stream);
}
void cuda_diagonal(const ConstRecords& a, const Records& b, const Tuning&, DeviceStream stream) {
  as_variant<Step::diagonal>(a, b, stream);
}

void add_ladder_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&]<Step step>(std::integral_constant<Step, step>) {
    for (const LadderRow& row : rows_of_the_ladder) {
      if (row.step != step) continue;
      const auto with = [&]<class T>(const char* of, Type<T>) {
        to.push_back(
            machine::device_function(row.name, of, ladder_step<step, T>, edge * rows_at_once));
      };
      with("records of 4 bytes", Type<unsigned>{});
      with("records of 8 bytes", Type<unsigned long long>{});
    }
  };
  add(std::integral_constant<Step, Step::copy>{});
  add(std::integral_constant<Step, Step::copy_shared>{});
  add(std::integral_constant<Step, Step::naive>{});
  add(std::integral_constant<Step, Step::coalesced>{});
  add(std::integral_constant<Step, Step::conflict_free>{});
  add(std::integral_constant<Step, Step::fine_grained>{});
  add(std::integral_constant<Step, Step::coarse_grained>{});
  add(std::integral_constant<Step, Step::diagonal>{});
  to.push_back(machine::device_function("cuda_naive", "records of other sizes, in words of 4 bytes",
                                        plain<unsigned>, plain_threads));
}

}  // namespace tessera::inline v1::transpose
