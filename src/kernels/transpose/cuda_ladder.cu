// The optimisation ladder of the literature (Ruetsch and Micikevicius 2009): from a copy and the
// naive transpose to coalesced accesses, shared memory without bank conflicts, and diagonal block
// order.

#include <array>

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

template <class T>
struct Task {
  MatrixView<const T> a;
  MatrixView<T> b;
  index_t down, right;  ///< tiles
  Repeats repeats;
};

constexpr int each =
    edge / rows_at_once;  // records of a tile per thread; all are read before the first is written

/// Moves one thread's records of a tile without shared memory.
template <Step step, class T>
__device__ void move_directly(const Task<T>& task, index_t i0, index_t j0) {
  const index_t i = i0 + threadIdx.y, j = j0 + threadIdx.x;
  T record[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (i + k * rows_at_once < task.a.rows && j < task.a.cols)
      record[k] = task.a(i + k * rows_at_once, j);
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const index_t row = i + k * rows_at_once;
    if (row < task.a.rows && j < task.a.cols)
      (step == Step::copy ? task.b(row, j) : task.b(j, row)) = record[k];
  }
}

/// Moves a tile through shared memory, which is read transposed unless only the tile's position
/// changes.
template <Step step, class T>
__device__ void move_through(const Task<T>& task, index_t i0, index_t j0) {
  constexpr bool turns_inside = step != Step::copy_shared && step != Step::coarse_grained;
  constexpr bool moves_tile = step != Step::copy_shared && step != Step::fine_grained;
  constexpr int pitch = edge + (step == Step::copy_shared || step == Step::coalesced ? 0 : 1);
  __shared__ T tile[edge][pitch];  // (row, column of a); padded against bank conflicts except in
                                   // the first steps
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const index_t rows = task.a.rows, cols = task.a.cols;
#pragma unroll
  for (int k = y; k < y + edge; k += rows_at_once)
    if (i0 + k < rows && j0 + x < cols) tile[k][x] = task.a(i0 + k, j0 + x);
  __syncthreads();
  T record[each];
#pragma unroll
  for (int k = 0; k < each; ++k)
    record[k] = turns_inside ? tile[x][y + k * rows_at_once] : tile[y + k * rows_at_once][x];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int row = y + k * rows_at_once;
    const index_t i = (moves_tile ? j0 : i0) + row, j = (moves_tile ? i0 : j0) + x;
    const int s = turns_inside ? x : row, f = turns_inside ? row : x;  // source of the record in
                                                                       // the tile
    if (i < task.b.rows && j < task.b.cols && i0 + s < rows && j0 + f < cols)
      task.b(i, j) = record[k];
  }
  __syncthreads();  // before the next repetition
}

template <Step step, class T>
__global__ void __launch_bounds__(edge* rows_at_once) ladder_step(Task<T> task) {
  const index_t tiles = task.down * task.right;
  for (int r = 0; r < task.repeats.count; ++r) {
    const index_t number = (blockIdx.x + r * task.repeats.stride) % tiles;
    const Cell cell = step == Step::diagonal ? diagonal_order(number, task.down, task.right)
                                             : row_order(number, task.right);
    if constexpr (step == Step::copy || step == Step::naive)
      move_directly<step>(task, cell.i * edge, cell.j * edge);
    else
      move_through<step>(task, cell.i * edge, cell.j * edge);
  }
}

template <Step step>
void launch(const ConstRecords& a, const Records& b, const Repeats& repeats, DeviceStream stream) {
  const index_t down = ceil_div(a.rows, edge), right = ceil_div(a.cols, edge);
  dispatch_word(a.bytes, [&]<class T>(Type<T>) {
    const Task<T> task{as_words<T>(a), as_words<T>(b), down, right, repeats};
    ladder_step<step><<<grid_of(down * right), dim3(edge, rows_at_once), 0, stream>>>(task);
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
