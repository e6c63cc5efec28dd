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

/// One sliver of A against `panels` panels of B, each V vectors wide.
template <class T>
struct MicroRow {
  index_t k;
  const T* a;
  index_t a_row, a_step;
  const T* b;
  index_t b_step, b_panel;
  T alpha, beta;
  T* c;
  index_t ldc;
  index_t panels;
  index_t tail;  ///< columns in the last vector
};

/// c[0:R, 0:V*lanes] = alpha * sum + beta * c, the last vector of `tail` columns.
template <class T, int R, int V, bool fresh, bool full>
TESSERA_INLINE void put(const MicroRow<T>& t, T* c, const typename Simd<T>::vec (&sum)[R][V]) {
  using S = Simd<T>;
  const auto alpha = S::broadcast(t.alpha);
  const auto beta = S::broadcast(t.beta);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      T* const at = c + r * t.ldc + v * S::lanes;
      if (full || v < V - 1) {
        S::store(at, fresh ? alpha * sum[r][v] : S::fma(alpha, sum[r][v], beta * S::load(at)));
      } else {
        S::store(at, fresh ? alpha * sum[r][v] : S::fma(alpha, sum[r][v], beta * S::load(at, t.tail)),
                 t.tail);
      }
    }
  }
}

/// c[0:R, 0:V*lanes] = alpha * a[0:R, 0:k] * b[0:k, :] + beta * c. Packed: both are, as Shape<T> has it. Else
/// b may end with the last column, so nothing is loaded beyond it.
template <class T, int R, int V, bool packed>
TESSERA_INLINE void micro(const MicroRow<T>& t, const T* b, T* c) {
  using S = Simd<T>;
  const index_t row = packed ? 1 : t.a_row;
  const index_t a_step = packed ? Shape<T>::mr : t.a_step;
  const index_t b_step = packed ? Shape<T>::nr : t.b_step;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * t.ldc + v * S::lanes, 1);
  }
  typename S::vec sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = S::zero();
  }
  const T* a = t.a;
  for (index_t p = 0; p < t.k; ++p) {
    typename S::vec bp[V];
#pragma GCC unroll 4
    for (int v = 0; v < V - 1; ++v) bp[v] = S::load(b + v * S::lanes);
    bp[V - 1] = packed ? S::load(b + (V - 1) * S::lanes) : S::load(b + (V - 1) * S::lanes, t.tail);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto ar = S::broadcast(a[r * row]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::fma(ar, bp[v], sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
  if (t.tail == S::lanes) {
    t.beta == T{0} ? put<T, R, V, true, true>(t, c, sum) : put<T, R, V, false, true>(t, c, sum);
  } else {
    t.beta == T{0} ? put<T, R, V, true, false>(t, c, sum) : put<T, R, V, false, false>(t, c, sum);
  }
}

template <class T, int R, int V, bool packed>
void micro_row(const MicroRow<T>& t) {
  for (index_t j = 0; j < t.panels; ++j) {
    micro<T, R, V, packed>(t, t.b + j * t.b_panel, t.c + j * V * Simd<T>::lanes);
  }
}

template <class T>
using Micro = void (*)(const MicroRow<T>&);

/// of[R - 1][V - 1]: edges run the kernel of their size.
template <class T, bool packed, int R, int V>
constexpr Micro<T> pick() {
  if constexpr (R <= Shape<T>::mr && V <= Shape<T>::vectors) return micro_row<T, R, V, packed>;
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
  constexpr index_t most = Shape<T>::vectors;
  const bool packed = t.a_row == 1 && t.a_step == mr && t.b_step == nr && t.b_panel == nr * t.k;
  const auto& micros = packed ? packed_micros<T>.of : strided_micros<T>.of;
  const index_t vectors = (t.n + lanes - 1) / lanes;
  // The columns beyond the full panels; where B lies free, 2 + 2 vectors rather than 3 + 1.
  const index_t full = t.n / nr;
  const bool even = t.b_panel == nr && full > 0 && vectors - full * most == 1;
  const index_t panels = even ? full - 1 : full;
  const index_t tail = t.n - (vectors - 1) * lanes;
  for (index_t i = 0; i < t.m; i += mr) {
    const auto& micro_of = micros[smaller(mr, t.m - i) - 1];
    MicroRow<T> row{.k = t.k,
                    .a = t.a + i / mr * t.a_sliver,
                    .a_row = t.a_row,
                    .a_step = t.a_step,
                    .b = t.b,
                    .b_step = t.b_step,
                    .b_panel = t.b_panel,
                    .alpha = t.alpha,
                    .beta = t.beta,
                    .c = t.c + i * t.ldc,
                    .ldc = t.ldc,
                    .panels = panels,
                    .tail = lanes};
    micro_of[most - 1](row);
    row.b += panels * t.b_panel;
    row.c += panels * nr;
    row.panels = 1;
    index_t rest = vectors - panels * most;
    if (even) {
      constexpr index_t half = (most + 1) / 2;
      micro_of[half - 1](row);
      row.b += half * lanes;
      row.c += half * lanes;
      rest -= half;
    }
    row.tail = tail;
    if (rest > 0) micro_of[rest - 1](row);
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
