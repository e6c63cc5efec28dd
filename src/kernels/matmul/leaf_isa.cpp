// Compiled once for each instruction set (tessera_isa_source): nothing in here may be shared between them.

#include "kernels/matmul/leaf.hpp"
#include "kernels/simd.hpp"

namespace tessera::TESSERA_ISA {
namespace {

using matmul::LeafKernels;
using matmul::LeafTile;
using matmul::Operand;

constexpr index_t smaller(index_t x, index_t y) { return x < y ? x : y; }

/// Registers hold mr x vectors accumulators, one row of B and one element of A.
template <class T>
struct Shape {
  using S = Simd<T>;
  static constexpr int mr = S::registers == 32 ? 8 : 6;
  static constexpr int vectors = S::registers == 32 ? 3 : 2;
  static constexpr index_t nr = vectors * S::lanes;
};

template <class T>
struct MicroTile {
  index_t k;
  const T* a;
  index_t a_row, a_step;
  const T* b;
  index_t b_step;
  T alpha, beta;
  T* c;
  index_t ldc;
  index_t tail;  ///< columns in the last vector
};

/// c[0:R, 0:(V-1)*lanes+tail] = alpha * a[0:R, 0:k] * b[0:k, :] + beta * c. packed: a is a sliver of
/// Shape<T>::mr.
template <class T, int R, int V, bool packed>
void micro(const MicroTile<T>& t) {
  using S = Simd<T>;
  constexpr index_t lanes = S::lanes;
  const index_t row = packed ? 1 : t.a_row;
  const index_t step = packed ? Shape<T>::mr : t.a_step;
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) __builtin_prefetch(t.c + r * t.ldc + v * lanes, 1);
  }
  typename S::vec sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = S::zero();
  }
  const T* a = t.a;
  const T* b = t.b;
  for (index_t p = 0; p < t.k; ++p) {
    typename S::vec bp[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) bp[v] = S::load(b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto ar = S::broadcast(a[r * row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::fma(ar, bp[v], sum[r][v]);
    }
    a += step;
    b += t.b_step;
  }
  const auto alpha = S::broadcast(t.alpha);
  const auto beta = S::broadcast(t.beta);
  const bool fresh = t.beta == T{0};
  const bool full = t.tail == lanes;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T* const c = t.c + r * t.ldc;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      T* const cv = c + v * lanes;
      if (v < V - 1 || full) {
        S::store(cv, fresh ? alpha * sum[r][v] : S::fma(alpha, sum[r][v], beta * S::load(cv)));
      } else {
        S::store(cv, fresh ? alpha * sum[r][v] : S::fma(alpha, sum[r][v], beta * S::load(cv, t.tail)),
                 t.tail);
      }
    }
  }
}

template <class T>
using Micro = void (*)(const MicroTile<T>&);

/// micros[packed][R - 1][V - 1]: edges run the kernel of their size.
template <class T, bool packed, int R, int V>
constexpr Micro<T> pick() {
  if constexpr (R <= Shape<T>::mr && V <= Shape<T>::vectors) return micro<T, R, V, packed>;
  return nullptr;
}
template <class T, bool packed>
struct Micros {
  Micro<T> of[8][3] = {{pick<T, packed, 1, 1>(), pick<T, packed, 1, 2>(), pick<T, packed, 1, 3>()},
                       {pick<T, packed, 2, 1>(), pick<T, packed, 2, 2>(), pick<T, packed, 2, 3>()},
                       {pick<T, packed, 3, 1>(), pick<T, packed, 3, 2>(), pick<T, packed, 3, 3>()},
                       {pick<T, packed, 4, 1>(), pick<T, packed, 4, 2>(), pick<T, packed, 4, 3>()},
                       {pick<T, packed, 5, 1>(), pick<T, packed, 5, 2>(), pick<T, packed, 5, 3>()},
                       {pick<T, packed, 6, 1>(), pick<T, packed, 6, 2>(), pick<T, packed, 6, 3>()},
                       {pick<T, packed, 7, 1>(), pick<T, packed, 7, 2>(), pick<T, packed, 7, 3>()},
                       {pick<T, packed, 8, 1>(), pick<T, packed, 8, 2>(), pick<T, packed, 8, 3>()}};
};
template <class T>
constexpr Micros<T, true> packed_micros{};
template <class T>
constexpr Micros<T, false> strided_micros{};

/// Slivers outside, panels inside: the sliver stays in the first level while the panels pass.
template <class T>
void multiply(const LeafTile<T>& t) {
  constexpr index_t mr = Shape<T>::mr;
  constexpr index_t nr = Shape<T>::nr;
  constexpr index_t lanes = Simd<T>::lanes;
  const bool packed = t.a_row == 1 && t.a_step == mr;
  const auto& micros = packed ? packed_micros<T>.of : strided_micros<T>.of;
  for (index_t i = 0; i < t.m; i += mr) {
    const index_t rows = smaller(mr, t.m - i);
    for (index_t j = 0; j < t.n; j += nr) {
      const index_t cols = smaller(nr, t.n - j);
      const index_t vectors = (cols + lanes - 1) / lanes;
      const bool tail = cols < nr && t.b_tail != nullptr;
      micros[rows - 1][vectors - 1]({.k = t.k,
                                     .a = t.a + i / mr * t.a_sliver,
                                     .a_row = t.a_row,
                                     .a_step = t.a_step,
                                     .b = tail ? t.b_tail : t.b + j / nr * t.b_panel,
                                     .b_step = tail ? nr : t.b_step,
                                     .alpha = t.alpha,
                                     .beta = t.beta,
                                     .c = t.c + i * t.ldc + j,
                                     .ldc = t.ldc,
                                     .tail = cols - (vectors - 1) * lanes});
    }
  }
}

/// x(i, p), i < count, into one group of `width` values for each p.
template <class T, index_t width>
void pack_group(Operand<T> x, index_t count, index_t k, T* packed) {
  for (index_t p = 0; p < k; ++p) {
    const T* const from = x.data + p * x.step;
    T* const to = packed + p * width;
    if (count == width && x.row == 1) {
      for (index_t i = 0; i < width; ++i) to[i] = from[i];
    } else {
      for (index_t i = 0; i < count; ++i) to[i] = from[i * x.row];
      for (index_t i = count; i < width; ++i) to[i] = T{0};
    }
  }
}

template <class T>
void pack_a(Operand<T> a, index_t rows, index_t k, T* packed) {
  constexpr index_t mr = Shape<T>::mr;
  for (index_t i = 0; i < rows; i += mr) {
    pack_group<T, mr>({a.data + i * a.row, a.row, a.step}, smaller(mr, rows - i), k, packed + i * k);
  }
}

template <class T>
void pack_b(Operand<T> b, index_t k, index_t cols, T* packed) {
  constexpr index_t nr = Shape<T>::nr;
  for (index_t j = 0; j < cols; j += nr) {
    pack_group<T, nr>({b.data + j * b.step, b.step, b.row}, smaller(nr, cols - j), k, packed + j * k);
  }
}

template <class T>
void add(const T* value, T* into, index_t n) {
  for (index_t i = 0; i < n; ++i) into[i] += value[i];
}

template <class T>
constexpr LeafKernels<T> kernels{Shape<T>::mr, Shape<T>::nr, multiply<T>, pack_a<T>, pack_b<T>, add<T>};

}  // namespace

const LeafKernels<float>& leaf_kernels_f32();
const LeafKernels<double>& leaf_kernels_f64();
const LeafKernels<float>& leaf_kernels_f32() { return kernels<float>; }
const LeafKernels<double>& leaf_kernels_f64() { return kernels<double>; }

}  // namespace tessera::TESSERA_ISA
