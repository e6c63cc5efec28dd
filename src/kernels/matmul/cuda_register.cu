// Register tiling without tensor units: a block's tile of C in registers, operands through two shared-memory
// stages, the next stage loaded into registers while the present one is multiplied.

#include "kernels/matmul/cuda_device.cuh"

namespace tessera::matmul {
namespace {

/// A block computes m x n of C in steps of k; a thread tm x tn of it, in groups of one 16-byte vector.
template <class T>
struct Tile;
template <>
struct Tile<float> {
  static constexpr int m = 128, n = 128, k = 16, tm = 8, tn = 8;
};
template <>
struct Tile<double> {
  static constexpr int m = 128, n = 64, k = 8, tm = 8, tn = 4;
};

template <class T>
inline constexpr int lanes = 16 / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int threads = (Tile<T>::m / Tile<T>::tm) * (Tile<T>::n / Tile<T>::tn);

template <class T>
struct alignas(16) Vector {
  T at[lanes<T>];
};

/// A tile of `across` x Tile::k of an operand on its way from global to shared memory, where k runs slowest:
/// shared[k][across + pad]. k_runs_fast: the stored rows run along k, and every vector is turned on its way.
template <class T, int across, bool k_runs_fast>
struct Loader {
  static constexpr int fast = k_runs_fast ? Tile<T>::k : across;
  static constexpr int vectors = across * Tile<T>::k / lanes<T>;
  static constexpr int mine = vectors / threads<T>;
  static constexpr int pitch = across + lanes<T>;
  static_assert(vectors % threads<T> == 0);

  MatrixView<const T> x;  // stored
  index_t first;          // of the tile, along the side that is not k
  bool aligned;           // every stored row begins on 16 bytes
  Vector<T> held[mine];

  __device__ void load(index_t k0) {
#pragma unroll
    for (int v = 0; v < mine; ++v) {
      const int number = static_cast<int>(threadIdx.x) + v * threads<T>;
      const index_t slow = number / (fast / lanes<T>)+(k_runs_fast ? first : k0);
      const index_t quick = number % (fast / lanes<T>)*lanes<T> + (k_runs_fast ? k0 : first);
      const T* from = x.data + slow * x.ld + quick;
      if (aligned && slow < x.rows && quick + lanes<T> <= x.cols) {
        held[v] = *reinterpret_cast<const Vector<T>*>(from);
      } else {
#pragma unroll
        for (int e = 0; e < lanes<T>; ++e)
          held[v].at[e] = slow < x.rows && quick + e < x.cols ? from[e] : T{0};
      }
    }
  }

  __device__ void put(T* shared) const {
#pragma unroll
    for (int v = 0; v < mine; ++v) {
      const int number = static_cast<int>(threadIdx.x) + v * threads<T>;
      const int slow = number / (fast / lanes<T>), quick = number % (fast / lanes<T>)*lanes<T>;
      if constexpr (k_runs_fast) {
#pragma unroll
        for (int e = 0; e < lanes<T>; ++e) shared[(quick + e) * pitch + slow] = held[v].at[e];
      } else {
        *reinterpret_cast<Vector<T>*>(shared + slow * pitch + quick) = held[v];
      }
    }
  }
};

/// The fragment of a thread: groups of one vector, `stride` apart, so that a warp's vectors lie side by side.
template <class T, int count>
__device__ __forceinline__ void fragment(const T* row, int stride, T (&out)[count]) {
#pragma unroll
  for (int group = 0; group < count / lanes<T>; ++group) {
    const auto vector = *reinterpret_cast<const Vector<T>*>(row + group * stride);
#pragma unroll
    for (int e = 0; e < lanes<T>; ++e) out[group * lanes<T> + e] = vector.at[e];
  }
}

template <class T>
__device__ __forceinline__ void multiply_stage(const T* a, const T* b, int a_pitch, int b_pitch,
                                               T (&sum)[Tile<T>::tm][Tile<T>::tn]) {
  using S = Tile<T>;
  constexpr int a_stride = S::m / (S::tm / lanes<T>), b_stride = S::n / (S::tn / lanes<T>);
#pragma unroll
  for (int p = 0; p < S::k; ++p) {
    T x[S::tm], y[S::tn];
    fragment(a + p * a_pitch, a_stride, x);
    fragment(b + p * b_pitch, b_stride, y);
#pragma unroll
    for (int i = 0; i < S::tm; ++i) {
#pragma unroll
      for (int j = 0; j < S::tn; ++j) sum[i][j] += x[i] * y[j];
    }
  }
}

/// Blocks in groups of eight rows of tiles, so that neighbours in time share operands in the second-level
/// cache.
__device__ __forceinline__ int2 tile_of_block(int rows, int cols) {
  constexpr int group = 8;
  const int per_group = group * cols, number = static_cast<int>(blockIdx.x);
  const int first = number / per_group * group, here = min(group, rows - first);
  const int within = number % per_group;
  return {first + within % here, within / here};
}

template <Op op_a, Op op_b, class T>
__global__ void __launch_bounds__(threads<T>) register_tiled(Gemm<T> g, bool aligned_a, bool aligned_b) {
  using S = Tile<T>;
  using LoadA = Loader<T, S::m, op_a == Op::none>;
  using LoadB = Loader<T, S::n, op_b == Op::transpose>;
  __shared__ alignas(16) T a[2][S::k * LoadA::pitch];  // (stage, k, m), padded
  __shared__ alignas(16) T b[2][S::k * LoadB::pitch];  // (stage, k, n), padded
  const int2 tile = tile_of_block(static_cast<int>((g.c.rows + S::m - 1) / S::m),
                                  static_cast<int>((g.c.cols + S::n - 1) / S::n));
  const index_t row0 = static_cast<index_t>(tile.x) * S::m, col0 = static_cast<index_t>(tile.y) * S::n;
  const int tx = static_cast<int>(threadIdx.x) % (S::n / S::tn),
            ty = static_cast<int>(threadIdx.x) / (S::n / S::tn);
  const index_t k = op_a == Op::none ? g.a.cols : g.a.rows;
  LoadA load_a{g.a, row0, aligned_a, {}};
  LoadB load_b{g.b, col0, aligned_b, {}};
  T sum[S::tm][S::tn] = {};

  load_a.load(0);
  load_b.load(0);
  int stage = 0;
  for (index_t k0 = 0; k0 < k; k0 += S::k, stage ^= 1) {
    load_a.put(a[stage]);
    load_b.put(b[stage]);
    __syncthreads();
    if (k0 + S::k < k) {
      load_a.load(k0 + S::k);
      load_b.load(k0 + S::k);
    }
    multiply_stage<T>(a[stage] + ty * lanes<T>, b[stage] + tx * lanes<T>, LoadA::pitch, LoadB::pitch, sum);
  }

  constexpr int a_stride = S::m / (S::tm / lanes<T>), b_stride = S::n / (S::tn / lanes<T>);
#pragma unroll
  for (int i = 0; i < S::tm; ++i) {
    const index_t row = row0 + i / lanes<T> * a_stride + ty * lanes<T> + i % lanes<T>;
#pragma unroll
    for (int j = 0; j < S::tn; ++j) {
      const index_t col = col0 + j / lanes<T> * b_stride + tx * lanes<T> + j % lanes<T>;
      if (row < g.c.rows && col < g.c.cols) store(g.c(row, col), g.alpha, sum[i][j], g.beta);
    }
  }
}

template <class T>
bool rows_aligned(const MatrixView<const T>& x) {
  return x.ld % lanes<T> == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

}  // namespace

template <class T>
void cuda_register(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  const index_t blocks = ceil_div(g.c.rows, Tile<T>::m) * ceil_div(g.c.cols, Tile<T>::n);
  if (blocks == 0) return;
  dispatch_ops(g, [&](auto op_a, auto op_b) {
    register_tiled<op_a(), op_b()>
        <<<narrow<unsigned>(blocks), threads<T>, 0, stream>>>(g, rows_aligned(g.a), rows_aligned(g.b));
  });
  machine::cuda::check(cudaGetLastError(), "matmul kernel");
}

template void cuda_register(const Gemm<float>&, const Tuning&, DeviceStream);
template void cuda_register(const Gemm<double>&, const Tuning&, DeviceStream);

}  // namespace tessera::matmul
