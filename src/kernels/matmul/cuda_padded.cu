// Copies of operands of 16 bits with rows aligned to 16 bytes, for the tensor memory accelerator:
// one launch copies both.

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "kernels/matmul/cuda_pipeline.cuh"

namespace tessera::inline v1::matmul {
namespace {

constexpr int threads = 256, vector = 8;

template <class T>
struct Copy {
  MatrixView<const T> from;
  T* to = nullptr;
  index_t vectors = 0;  ///< of `to`, whose rows are whole vectors

  [[nodiscard]] TESSERA_HD index_t vectors_per_row() const {
    return (from.cols + vector - 1) / vector;
  }
};

/// Copies one vector of one of both operands.
template <class T>
__global__ void __launch_bounds__(threads) pad(const Copy<T> a, const Copy<T> b) {
  const index_t thread = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x;
  const Copy<T>& copy = thread < a.vectors ? a : b;
  const index_t at = thread < a.vectors ? thread : thread - a.vectors;
  if (at >= copy.vectors) return;
  const index_t per_row = copy.vectors_per_row(), row = at / per_row, col = at % per_row * vector;
  unsigned loaded[4];
  load_words(copy.from.data + row * copy.from.ld + col,
             static_cast<int>(min(copy.from.cols - col, index_t{vector})), loaded);
  reinterpret_cast<uint4*>(copy.to)[at] = {loaded[0], loaded[1], loaded[2], loaded[3]};
}

/// Returns the copy to make of x, none if its rows are aligned.
template <class T>
Copy<T> copy_of(const MatrixView<const T>& x) {
  Copy<T> copy{x};
  if (!rows_aligned(x)) copy.vectors = x.rows * copy.vectors_per_row();
  return copy;
}

template <class T>
void replace(MatrixView<const T>& x, const Copy<T>& by) {
  if (by.vectors > 0) x = {by.to, x.rows, x.cols, by.vectors_per_row() * vector};
}

}  // namespace

template <class T>
bool cuda_padded_wgmma(const MixedGemm<T>& g, DeviceStream stream) {
  if (!kernels::device_code().wgmma || g.a.empty() || g.b.empty()) return false;
  Copy<T> a = copy_of(g.a), b = copy_of(g.b);
  if (a.vectors + b.vectors == 0) return cuda_wgmma(g, stream);
  const machine::cuda::Scratch storage(
      static_cast<std::size_t>(a.vectors + b.vectors) * sizeof(uint4), stream);
  a.to = static_cast<T*>(storage.data());
  b.to = a.to + a.vectors * vector;
  pad<T><<<blocks_for(a.vectors + b.vectors, threads), threads, 0, stream>>>(a, b);
  machine::cuda::check(cudaGetLastError(), "padding kernel");
  MixedGemm<T> padded = g;
  replace(padded.a, a);
  replace(padded.b, b);
  return cuda_wgmma(padded, stream);
}

template <class T>
TileCost padded_wgmma_cost(const MixedGemm<T>& g) {
  const auto vectors = static_cast<double>(copy_of(g.a).vectors + copy_of(g.b).vectors);
  constexpr double launch = 4000, vectors_per_cycle = 60;
  return {.m = 128,
          .n = 256,
          .k = 64,
          .blocks = 1,
          .alone = 22,
          .busy = 22,
          .begin = 22000,
          .before = vectors == 0 ? 0 : launch + vectors / vectors_per_cycle};
}

template TileCost padded_wgmma_cost(const MixedGemm<__nv_bfloat16>&);
template TileCost padded_wgmma_cost(const MixedGemm<__half>&);
template bool cuda_padded_wgmma(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template bool cuda_padded_wgmma(const MixedGemm<__half>&, DeviceStream);

}  // namespace tessera::inline v1::matmul
