#pragma once
// Software pipeline of register-blocked kernels: asynchronous copies of operand tiles from global
// to shared memory, several stages ahead of the multiplication.

#include "kernels/cuda_async.cuh"
#include "kernels/matmul/cuda_device.cuh"

namespace tessera::matmul {

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
  /// not k, and at k = 0.
  __device__ TileCopies(const MatrixView<const T>& x, index_t first, T* shared) {
    const int s = static_cast<int>(threadIdx.x) / per_row,
              f = static_cast<int>(threadIdx.x) % per_row * vector;
    const index_t slow0 = s + (Shape::k_fast ? first : 0), fast0 = f + (Shape::k_fast ? 0 : first);
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
#pragma unroll
  for (int stage = 0; stage < ahead; ++stage) load(stage);
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

/// Shared memory of a block, in bytes.
template <class Kernel, class T>
constexpr int shared_bytes_of = Kernel::stages*(Kernel::a_elements + Kernel::b_elements) *
                                static_cast<int>(sizeof(T));

template <class Kernel, class T>
machine::DeviceFunction function_of(const char* name, const char* of, void (*kernel)(Gemm<T>)) {
  return {name, of, reinterpret_cast<const void*>(kernel), Kernel::threads,
          shared_bytes_of<Kernel, T>};
}

/// Launches one block per tile of C.
template <class Kernel, class T>
void launch_tiles(void (*kernel)(Gemm<T>), const Gemm<T>& g, DeviceStream stream) {
  constexpr int bytes = shared_bytes_of<Kernel, T>;
  machine::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "cudaFuncSetAttribute");
  const index_t blocks = ceil_div(g.c.rows, Kernel::m) * ceil_div(g.c.cols, Kernel::n);
  kernel<<<narrow<unsigned>(blocks), Kernel::threads, bytes, stream>>>(g);
}

}  // namespace tessera::matmul
