#pragma once
// Software pipeline of register-blocked kernels: asynchronous copies of operand tiles from global
// to shared memory, several stages ahead of the multiplication.

#include <algorithm>

#include "kernels/cuda_async.cuh"
#include "kernels/matmul/cuda_device.cuh"

namespace tessera::inline v1::matmul {

/// The layout of an operand's tile: `slow` stored rows of `fast` elements; element (s, f) is at s *
/// slow_pitch + f * fast_pitch in shared memory. k runs along the rows (k_fast) or across them.
template <int slow_, int fast_, int slow_pitch_, int fast_pitch_, bool k_fast_>
struct TileShape {
  static constexpr int slow = slow_, fast = fast_, slow_pitch = slow_pitch_,
                       fast_pitch = fast_pitch_;
  static constexpr bool k_fast = k_fast_;
  static constexpr int depth = k_fast ? fast : slow;
};

/// One thread's share of the copies of a tile, `vector` elements each. It advances addresses
/// instead of recomputing them: the integer arithmetic took 15 % of the issue slots.
template <class T, class Shape, int threads, int vector>
class TileCopies {
 public:
  /// Constructs the copies of stored operand x; the tile begins at `first` along the side that is
  /// not k, and at k0.
  __device__ TileCopies(const MatrixView<const T>& x, index_t first, index_t k0, T* shared) {
    const int s = static_cast<int>(threadIdx.x) / per_row,
              f = static_cast<int>(threadIdx.x) % per_row * vector;
    const index_t slow0 = s + (Shape::k_fast ? first : k0),
                  fast0 = f + (Shape::k_fast ? k0 : first);
    from_ = x.data + slow0 * x.ld + fast0;
    step_ = x.ld * rows_at_once;
    tile_step_ = Shape::k_fast ? Shape::depth : x.ld * Shape::depth;
    const index_t across = (Shape::k_fast ? x.rows : x.cols) - first;
    across_left_ =
        static_cast<int>(min(across, index_t{Shape::k_fast ? Shape::slow : Shape::fast}));
    to_ = static_cast<unsigned>(
        __cvta_generic_to_shared(shared + s * Shape::slow_pitch + f * Shape::fast_pitch));
  }

  /// Copies the next tile along k into the stage that begins `stage` bytes after the first; k_left:
  /// elements along k from here to the end.
  __device__ void copy(unsigned stage, index_t k_left) {
    constexpr int across = Shape::k_fast ? Shape::slow : Shape::fast;
    if (across_left_ == across && k_left >= Shape::depth) {
#pragma unroll
      for (int j = 0; j < copies; ++j)
        kernels::copy_async<bytes>(to_ + stage + j * rows_at_once * Shape::slow_pitch * sizeof(T),
                                   from_ + j * step_);
    } else {
      copy_edge(stage, static_cast<int>(min(k_left, index_t{Shape::depth})));
    }
    from_ += tile_step_;
  }
  /// Stores what copy() has loaded to registers: nothing here.
  __device__ void finish() {}

 private:
  static constexpr int bytes = vector * static_cast<int>(sizeof(T));
  static constexpr int per_row = Shape::fast / vector;
  static constexpr int rows_at_once = threads / per_row;
  static constexpr int copies = Shape::slow / rows_at_once;
  static_assert(threads % per_row == 0 && Shape::slow % rows_at_once == 0);
  static_assert(vector == 1 || Shape::fast_pitch == 1);

  /// Copies a tile at an edge; elements outside the operand become zeros.
  __device__ void copy_edge(unsigned stage, int k_left) {
    const int s = static_cast<int>(threadIdx.x) / per_row,
              f = static_cast<int>(threadIdx.x) % per_row * vector;
    const int slow_left = (Shape::k_fast ? across_left_ : k_left) - s;
    const int here = min(max((Shape::k_fast ? k_left : across_left_) - f, 0), vector);
#pragma unroll
    for (int j = 0; j < copies; ++j) {
      const int inside = j * rows_at_once < slow_left ? here : 0;
      kernels::copy_async<bytes>(to_ + stage + j * rows_at_once * Shape::slow_pitch * sizeof(T),
                                 from_ + j * step_, inside * static_cast<int>(sizeof(T)));
    }
  }

  const T* from_;
  index_t step_, tile_step_;
  int across_left_;  // rows or columns inside the operand, along the tile's side that is not k
  unsigned to_;
};

/// Loads the first `valid` of eight elements of two bytes in aligned words; the others become
/// zeros.
template <class T>
__device__ __forceinline__ void load_words(const T* from, int valid, unsigned (&to)[4]) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const int odd = static_cast<int>(address / 2 % 2);
  const auto* const words = reinterpret_cast<const unsigned*>(address - 2 * odd);
  const int end = valid > 0 ? valid + odd : 0;
  unsigned word[5];
#pragma unroll
  for (int i = 0; i < 5; ++i) word[i] = 2 * i < end ? __ldg(words + i) : 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned both = __funnelshift_r(word[i], word[i + 1], 16 * odd);
    to[i] = 2 * i + 1 < valid ? both : 2 * i < valid ? both & 0xFFFF : 0;
  }
}

/// As TileCopies, for elements of two bytes in rows that begin anywhere: asynchronous copies are of
/// 4 bytes at least. Aligned words are loaded to registers, shifted by an element in rows that
/// begin within one, and stored as vectors of 16 bytes by finish().
template <class T, class Shape, int threads>
class WordCopies {
 public:
  __device__ WordCopies(const MatrixView<const T>& x, index_t first, index_t k0, T* shared) {
    const int s = static_cast<int>(threadIdx.x) / per_row,
              f = static_cast<int>(threadIdx.x) % per_row * vector;
    from_ = x.data + (s + (Shape::k_fast ? first : k0)) * x.ld + f + (Shape::k_fast ? k0 : first);
    step_ = x.ld * rows_at_once;
    tile_step_ = Shape::k_fast ? Shape::depth : x.ld * Shape::depth;
    const index_t across = (Shape::k_fast ? x.rows : x.cols) - first;
    across_left_ =
        static_cast<int>(min(across, index_t{Shape::k_fast ? Shape::slow : Shape::fast}));
    to_ = static_cast<unsigned>(__cvta_generic_to_shared(shared + s * Shape::slow_pitch + f));
  }

  __device__ void copy(unsigned stage, index_t k_left) {
    const int left = static_cast<int>(min(k_left, index_t{Shape::depth}));
    const int s = static_cast<int>(threadIdx.x) / per_row,
              f = static_cast<int>(threadIdx.x) % per_row * vector;
    const int slow_left = (Shape::k_fast ? across_left_ : left) - s;
    const int fast_left = min(max((Shape::k_fast ? left : across_left_) - f, 0), vector);
    at_ = to_ + stage;
    pending_ = true;
#pragma unroll
    for (int j = 0; j < copies; ++j)
      load_words(from_ + j * step_, j * rows_at_once < slow_left ? fast_left : 0, loaded_[j]);
    from_ += tile_step_;
  }
  __device__ void finish() {
    if (!pending_) return;
    pending_ = false;
#pragma unroll
    for (int j = 0; j < copies; ++j)
      asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                       at_ + j * rows_at_once * Shape::slow_pitch * static_cast<int>(sizeof(T))),
                   "r"(loaded_[j][0]), "r"(loaded_[j][1]), "r"(loaded_[j][2]), "r"(loaded_[j][3])
                   : "memory");
  }

 private:
  static constexpr int vector = 8, per_row = Shape::fast / vector;
  static constexpr int rows_at_once = threads / per_row, copies = Shape::slow / rows_at_once;
  static_assert(sizeof(T) == 2 && Shape::fast_pitch == 1 && threads % per_row == 0 &&
                Shape::slow % rows_at_once == 0);

  const T* from_;
  index_t step_, tile_step_;
  int across_left_;
  unsigned to_, at_;
  unsigned loaded_[copies][4];
  bool pending_ = false;
};

/// Multiplies one block of C. `Kernel` has the tile (m, n, k), the stages, the types of the copies
/// of a and b, and, for each of its steps along a tile, fetch(buffer, stage, step) from shared
/// memory and multiply(buffer). Double buffering in registers: the fetch runs one step ahead, also
/// across tiles, so no warp waits for shared memory.
template <class Kernel, class T>
__device__ void multiply_block(Kernel& kernel, typename Kernel::CopiesA& copies_a,
                               typename Kernel::CopiesB& copies_b, index_t k, const T*) {
  constexpr int ahead = Kernel::stages - 1;
  constexpr unsigned a_bytes = Kernel::a_elements * sizeof(T),
                     b_bytes = Kernel::b_elements * sizeof(T);
  index_t k_left = k;  // elements along k whose copies are not yet issued
  const auto load = [&](int stage) {
    if (k_left > 0) {
      copies_a.copy(stage * a_bytes, k_left);
      copies_b.copy(stage * b_bytes, k_left);
    }
    k_left -= Kernel::k;
    kernels::end_group();
  };
  const auto finish = [&] {
    copies_a.finish();
    copies_b.finish();
  };
#pragma unroll(Kernel::cut ? 1 : ahead)  // short where tiles are few: it is executed once
  for (int stage = 0; stage < ahead; ++stage) {
    load(stage);
    finish();
  }
  kernels::wait_for_groups<ahead - 1>();
  __syncthreads();
  kernel.fetch(0, 0, 0);
  int stage = 0, empty = ahead;
  const auto next = [](int s) { return s + 1 == Kernel::stages ? 0 : s + 1; };
  for (index_t k0 = 0; k0 < k; k0 += Kernel::k) {
#pragma unroll
    for (int step = 0; step < Kernel::steps; ++step) {
      if (step == Kernel::steps - 1) {  // the next tile; all threads have finished reading the
                                        // previous one
        finish();
        kernels::wait_for_groups<ahead - 1>();
        __syncthreads();
        stage = next(stage);
      }
      kernel.fetch((step + 1) % 2, stage, (step + 1) % Kernel::steps);
      if (step == 0) {
        load(empty);
        empty = next(empty);
      }
      kernel.multiply(step % 2);
    }
  }
}

/// Returns whether rows are aligned to 16 bytes, as copies of 16-byte vectors require.
template <class T>
bool rows_aligned(const MatrixView<const T>& x) {
  return x.ld % (16 / static_cast<index_t>(sizeof(T))) == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Calls f(op_a, op_b, vector) with compile-time constants; vector is the number of elements in 16
/// bytes if both operands are aligned, otherwise 1.
template <class T, class F>
void dispatch_pipeline(const Gemm<T>& g, const F& f) {
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    if (rows_aligned(g.a) && rows_aligned(g.b)) {
      f(op_a, op_b, std::integral_constant<int, 16 / static_cast<int>(sizeof(T))>{});
    } else {
      f(op_a, op_b, std::integral_constant<int, 1>{});
    }
  });
}

/// The row length of a tile of sums in shared memory, padded against bank conflicts.
template <class Kernel>
constexpr int sums_pitch = Kernel::n + 4;

/// Bytes of shared memory of a block's stages, and of the sums of its slices. T: type of the
/// operands.
template <class Kernel, class T>
constexpr int stage_bytes_of = Kernel::stages*(Kernel::a_elements + Kernel::b_elements) *
                               static_cast<int>(sizeof(T));
template <class Kernel, class Sum>
constexpr int sums_bytes_of =
    Kernel::slices* Kernel::m* sums_pitch<Kernel>* static_cast<int>(sizeof(Sum));

/// Whether sums take the place of the stages at the end. A kernel without slices may do without.
template <class Kernel, class T, class Sum = T>
constexpr bool keeps_sums =
    Kernel::slices > 1 || sums_bytes_of<Kernel, Sum> <= stage_bytes_of<Kernel, T>;

/// Shared memory of a block, in bytes.
template <class Kernel, class T, class Sum = T>
constexpr int shared_bytes_of = Kernel::slices == 1 ? stage_bytes_of<Kernel, T>
                                                    : std::max(stage_bytes_of<Kernel, T>,
                                                               sums_bytes_of<Kernel, Sum>);

template <class Kernel, class T>
machine::DeviceFunction function_of(const char* name, const char* of,
                                    void (*kernel)(Gemm<T>, int)) {
  return {name, of, reinterpret_cast<const void*>(kernel), Kernel::threads,
          shared_bytes_of<Kernel, T>};
}

/// Launches one block per tile of C, or a cluster of `cuts` blocks that divide k.
template <class Kernel, class Problem>
void launch_tiles(void (*kernel)(Problem, int), const Problem& g, int cuts, int bytes,
                  DeviceStream stream) {
  namespace cuda = machine::cuda;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "cudaFuncSetAttribute");
  const index_t tiles = ceil_div(g.c.rows, Kernel::m) * ceil_div(g.c.cols, Kernel::n);
  cudaLaunchConfig_t config{};
  config.gridDim = narrow<unsigned>(tiles * cuts);
  config.blockDim = Kernel::threads;
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.stream = stream;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(cuts), 1, 1};
  config.attrs = &cluster;
  config.numAttrs = cuts > 1 ? 1 : 0;
  if (cuts > 8)
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                "cudaFuncSetAttribute");
  cuda::check(cudaLaunchKernelEx(&config, kernel, g, cuts), "matmul kernel");
}

}  // namespace tessera::inline v1::matmul
