// The passes of multiply_vectors over rows and columns. Compiled once per instruction set
// (tessera_isa_source), so the sets must not share symbols.

#include "base/simd/number.hpp"
#include "base/simd/reduce.hpp"
#include "kernels/matmul/checksum_leaf.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using matmul::ChecksumKernels;
using matmul::max_vectors;
using matmul::Vectors;
using S = simd::Simd<double>;

constexpr index_t ahead = 1024;  // prefetch distance along a row, in bytes
/// Returns how many rows share the loads of x, as many as have registers for their sums: x and its
/// bound exceed the first-level cache. Eight instead of four, Emerald Rapids, n = 4096 from the
/// second level: 2.35 -> 2.00 ms.
constexpr int row_group(int vectors, int bounds) {
  if (S::registers < 32) return 2;
  return vectors + bounds <= 3 ? 8 : 4;
}

/// Multiplies R rows at p by V vectors and B bounds: n == lanes, or fewer at the end of the rows.
template <class T, int R, int V, int B>
TESSERA_INLINE void row_step(const T* a, index_t lda, const Vectors& w, index_t p, index_t n,
                             S::vec (&y)[R][V], S::vec (&bound)[R][B + 1]) {
  const bool full = n == S::lanes;
  S::vec value[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const T* const pa = a + r * lda + p;
    // Forced into a register instead of a memory operand of every instruction: loads limit this
    // loop.
    value[r] = simd::in_register(full ? simd::load_as<double>(pa) : simd::load_as<double>(pa, n));
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    const double* const px = w.x.data + v * w.x.ld + p;
    const S::vec x = full ? S::load(px) : S::load(px, n);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) y[r][v] = S::mul_add(value[r], x, y[r][v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < B; ++v) {
    const double* const pz = w.abs_x.data + v * w.abs_x.ld + p;
    const S::vec z = full ? S::load(pz) : S::load(pz, n);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) bound[r][v] = S::mul_add(simd::abs(value[r]), z, bound[r][v]);
  }
}

/// Computes y[v, i:i+R] += a[i:i+R, :] x[v, :], and the bounds.
template <class T, int R, int V, int B>
void row_block(const T* a, index_t lda, index_t k, const Vectors& w, index_t i) {
  S::vec y[R][V];
  S::vec bound[R][B + 1];  // one extra element, because B may be 0
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) y[r][v] = S::zero();
    for (int v = 0; v < B; ++v) bound[r][v] = S::zero();
  }
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  constexpr index_t steps = line / S::lanes;
  index_t p = 0;
  for (; p + line <= k; p += line) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      __builtin_prefetch(a + r * lda + p + ahead / static_cast<index_t>(sizeof(T)));
#pragma GCC unroll 8
    for (index_t s = 0; s < steps; ++s)
      row_step<T, R, V, B>(a, lda, w, p + s * S::lanes, S::lanes, y, bound);
  }
  for (; p + S::lanes <= k; p += S::lanes) row_step<T, R, V, B>(a, lda, w, p, S::lanes, y, bound);
  if (p < k) row_step<T, R, V, B>(a, lda, w, p, k - p, y, bound);
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) w.y.data[v * w.y.ld + i + r] += simd::sum(y[r][v]);
    for (int v = 0; v < B; ++v) w.bound.data[v * w.bound.ld + i + r] += simd::sum(bound[r][v]);
  }
}

template <class T, int V, int B>
void all_rows(MatrixView<const T> a, const Vectors& w) {
  constexpr int group = row_group(V, B);
  index_t i = 0;
  for (; i + group <= a.rows; i += group)
    row_block<T, group, V, B>(a.data + i * a.ld, a.ld, a.cols, w, i);
  for (; i < a.rows; ++i) row_block<T, 1, V, B>(a.data + i * a.ld, a.ld, a.cols, w, i);
}

/// Computes y[v, i:i+n] += x[v, p:p+P] a[p:p+P, i:i+n], and the bounds; n <= lanes.
template <class T, int P, int V, int B>
TESSERA_INLINE void column_step(const T* a, index_t lda, const Vectors& w, index_t p, index_t i,
                                index_t n) {
  const bool full = n == S::lanes;
  S::vec value[P];
#pragma GCC unroll 4
  for (int q = 0; q < P; ++q) {
    const T* const pa = a + q * lda + i;
    value[q] = full ? simd::load_as<double>(pa) : simd::load_as<double>(pa, n);
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    double* const py = w.y.data + v * w.y.ld + i;
    S::vec y = full ? S::load(py) : S::load(py, n);
#pragma GCC unroll 4
    for (int q = 0; q < P; ++q)
      y = S::mul_add(value[q], S::broadcast(w.x.data[v * w.x.ld + p + q]), y);
    full ? S::store(py, y) : S::store(py, y, n);
  }
#pragma GCC unroll 4
  for (int v = 0; v < B; ++v) {
    double* const pb = w.bound.data + v * w.bound.ld + i;
    S::vec bound = full ? S::load(pb) : S::load(pb, n);
#pragma GCC unroll 4
    for (int q = 0; q < P; ++q)
      bound = S::mul_add(simd::abs(value[q]), S::broadcast(w.abs_x.data[v * w.abs_x.ld + p + q]),
                         bound);
    full ? S::store(pb, bound) : S::store(pb, bound, n);
  }
}

template <class T, int P, int V, int B>
void column_pass(const T* a, index_t lda, index_t cols, const Vectors& w, index_t p) {
  index_t i = 0;
  for (; i + S::lanes <= cols; i += S::lanes) column_step<T, P, V, B>(a, lda, w, p, i, S::lanes);
  if (i < cols) column_step<T, P, V, B>(a, lda, w, p, i, cols - i);
}

template <class T, int V, int B>
void all_columns(MatrixView<const T> a, const Vectors& w) {
  index_t p = 0;
  for (; p + 4 <= a.rows; p += 4) column_pass<T, 4, V, B>(a.data + p * a.ld, a.ld, a.cols, w, p);
  for (; p < a.rows; ++p) column_pass<T, 1, V, B>(a.data + p * a.ld, a.ld, a.cols, w, p);
}

template <class T>
using Pass = void (*)(MatrixView<const T>, const Vectors&);
/// Passes for one vector or two, without bounds and with them.
template <class T>
constexpr Pass<T> row_passes[max_vectors][2] = {{all_rows<T, 1, 0>, all_rows<T, 1, 1>},
                                                {all_rows<T, 2, 0>, all_rows<T, 2, 2>}};
template <class T>
constexpr Pass<T> column_passes[max_vectors][2] = {{all_columns<T, 1, 0>, all_columns<T, 1, 1>},
                                                   {all_columns<T, 2, 0>, all_columns<T, 2, 2>}};

template <class T>
void rows(MatrixView<const T> a, const Vectors& w) {
  row_passes<T>[w.x.rows - 1][w.bound.rows > 0 ? 1 : 0](a, w);
}

template <class T>
void columns(MatrixView<const T> a, const Vectors& w) {
  column_passes<T>[w.x.rows - 1][w.bound.rows > 0 ? 1 : 0](a, w);
}

template <class T>
constexpr ChecksumKernels<T> kernels{rows<T>, columns<T>};

}  // namespace

const ChecksumKernels<float>& checksum_kernels_f32();
const ChecksumKernels<double>& checksum_kernels_f64();
const ChecksumKernels<float>& checksum_kernels_f32() { return kernels<float>; }
const ChecksumKernels<double>& checksum_kernels_f64() { return kernels<double>; }

}  // namespace tessera::inline v1::TESSERA_ISA
