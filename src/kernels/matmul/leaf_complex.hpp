#pragma once
// The leaf for complex elements, with the real multiplications of the definition. Packed operands hold real
// and imaginary parts apart, so that the inner loop is fma of whole vectors:
//
//   A: sliver[p] = re[0:mr] im[0:mr]          B: panel[p] = re[0:nr] im[0:nr]
//
// and conjugating is a matter of packing. C is interleaved again when a chunk's sum enters it. Only for files
// of tessera_isa_source.

#include "kernels/matmul/leaf_kernels.hpp"

namespace tessera::TESSERA_ISA {
namespace {

/// Registers hold mr x vectors accumulators of either part, both parts of a row of B, and parts of A.
template <class T>
struct ComplexShape {
  using S = Simd<T>;
  static constexpr int mr = S::registers == 32 ? 4 : 6;
  static constexpr int vectors = S::registers == 32 ? 3 : 1;
  static constexpr index_t nr = vectors * S::lanes;
};

/// One sliver of A against `panels` panels of B, in elements of T: two a complex number.
template <class T>
struct ComplexRow {
  index_t k;
  const T *a, *b;
  index_t b_panel;
  T alpha_re, alpha_im, beta_re, beta_im;
  T* c;
  index_t ldc;
  T* onto;
  index_t ldonto;
  index_t panels;
  index_t tail;  ///< complex columns in the last vector
};

/// The two halves of a vector's interleaved numbers: n of them are there.
template <class T>
struct Halves {
  typename Simd<T>::vec low, high;
};
template <class T>
TESSERA_INLINE Halves<T> load_halves(const T* from, index_t n) {
  using S = Simd<T>;
  if (n == S::lanes) return {S::load(from), S::load(from + S::lanes)};
  const index_t parts = 2 * n;
  const bool more = parts > S::lanes;
  return {S::load(from, smaller(parts, S::lanes)),
          more ? S::load(from + S::lanes, parts - S::lanes) : S::zero()};
}
template <class T>
TESSERA_INLINE void store_halves(T* to, const Halves<T>& x, index_t n) {
  using S = Simd<T>;
  if (n == S::lanes) {
    S::store(to, x.low);
    return S::store(to + S::lanes, x.high);
  }
  const index_t parts = 2 * n;
  S::store(to, x.low, smaller(parts, S::lanes));
  if (parts > S::lanes) S::store(to + S::lanes, x.high, parts - S::lanes);
}

/// beta c + value, where beta is real or the imaginary part enters by the numbers with their parts swapped.
template <class T>
TESSERA_INLINE typename Simd<T>::vec plus_scaled(const ComplexRow<T>& t, typename Simd<T>::vec value,
                                                 typename Simd<T>::vec c) {
  using S = Simd<T>;
  if (t.beta_im != T{0}) {
    T signs[S::lanes];
    for (index_t i = 0; i < S::lanes; i += 2) {
      signs[i] = -t.beta_im;
      signs[i + 1] = t.beta_im;
    }
    value = S::fma(S::load(signs), swap_pairs(c), value);
  }
  return S::fma(S::broadcast(t.beta_re), c, value);
}

/// What a chunk's sum of n columns does to row r of C at column j; C is not read when beta is 0.
template <class T>
TESSERA_INLINE void put_complex(const ComplexRow<T>& t, index_t r, index_t j, index_t n,
                                typename Simd<T>::vec re, typename Simd<T>::vec im) {
  using S = Simd<T>;
  const auto alpha_re = S::broadcast(t.alpha_re);
  auto value_re = alpha_re * re, value_im = alpha_re * im;
  if (t.alpha_im != T{0}) {
    const auto alpha_im = S::broadcast(t.alpha_im);
    value_re = S::fnma(alpha_im, im, value_re);
    value_im = S::fma(alpha_im, re, value_im);
  }
  Halves<T> value{interleave_low(value_re, value_im), interleave_high(value_re, value_im)};
  T* const c = t.c + r * t.ldc + 2 * j;
  if (t.beta_re != T{0} || t.beta_im != T{0}) {
    const Halves<T> old = load_halves(c, n);
    value = {plus_scaled(t, value.low, old.low), plus_scaled(t, value.high, old.high)};
  }
  if (t.onto == nullptr) return store_halves(c, value, n);
  T* const onto = t.onto + r * t.ldonto + 2 * j;
  const Halves<T> sibling = load_halves(onto, n);
  store_halves(onto, {sibling.low + value.low, sibling.high + value.high}, n);
}

/// One micro-tile of R rows and V vectors at column j of C.
template <class T, int R, int V>
TESSERA_INLINE void complex_micro(const ComplexRow<T>& t, const T* b, index_t j) {
  using S = Simd<T>;
  constexpr index_t mr = ComplexShape<T>::mr, nr = ComplexShape<T>::nr;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 6
    for (int v = 0; v < 2 * V; ++v) __builtin_prefetch(t.c + r * t.ldc + 2 * j + v * S::lanes, 1);
  }
  typename S::vec re[R][V], im[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) re[r][v] = im[r][v] = S::zero();
  }
  const T* a = t.a;
  const auto step = [&]() __attribute__((always_inline)) {
    typename S::vec b_re[V], b_im[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      b_re[v] = S::load(b + v * S::lanes);
      b_im[v] = S::load(b + nr + v * S::lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto a_re = S::broadcast(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        re[r][v] = S::fma(a_re, b_re[v], re[r][v]);
        im[r][v] = S::fma(a_re, b_im[v], im[r][v]);
      }
      const auto a_im = S::broadcast(a[mr + r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        re[r][v] = S::fnma(a_im, b_im[v], re[r][v]);
        im[r][v] = S::fma(a_im, b_re[v], im[r][v]);
      }
    }
    a += 2 * mr;
    b += 2 * nr;
  };
  index_t p = t.k;
  for (; p >= 2; p -= 2) {
    step();
    step();
  }
  if (p > 0) step();
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
      put_complex(t, r, j + v * S::lanes, v == V - 1 ? t.tail : S::lanes, re[r][v], im[r][v]);
  }
}

template <class T, int R, int V>
void complex_row(const ComplexRow<T>& row) {
  const ComplexRow<T> t = row;
  for (index_t j = 0; j < t.panels; ++j)
    complex_micro<T, R, V>(t, t.b + j * t.b_panel, j * V * Simd<T>::lanes);
}

template <class T>
using ComplexMicro = void (*)(const ComplexRow<T>&);

template <class T, int R, int V>
constexpr ComplexMicro<T> pick_complex() {
  if constexpr (R <= ComplexShape<T>::mr && V <= ComplexShape<T>::vectors) return complex_row<T, R, V>;
  return nullptr;
}
/// of[R - 1][V - 1]: edges run the kernel of their size.
template <class T>
struct ComplexMicros {
  ComplexMicro<T> of[6][3] = {{pick_complex<T, 1, 1>(), pick_complex<T, 1, 2>(), pick_complex<T, 1, 3>()},
                              {pick_complex<T, 2, 1>(), pick_complex<T, 2, 2>(), pick_complex<T, 2, 3>()},
                              {pick_complex<T, 3, 1>(), pick_complex<T, 3, 2>(), pick_complex<T, 3, 3>()},
                              {pick_complex<T, 4, 1>(), pick_complex<T, 4, 2>(), pick_complex<T, 4, 3>()},
                              {pick_complex<T, 5, 1>(), pick_complex<T, 5, 2>(), pick_complex<T, 5, 3>()},
                              {pick_complex<T, 6, 1>(), pick_complex<T, 6, 2>(), pick_complex<T, 6, 3>()}};
};
template <class T>
constexpr ComplexMicros<T> complex_micros{};

/// The numbers at x as their parts, two each.
template <class T>
const T* parts_of(const Complex<T>* x) {
  return reinterpret_cast<const T*>(x);
}
template <class T>
T* parts_of(Complex<T>* x) {
  return reinterpret_cast<T*>(x);
}

/// Both operands are packed.
template <class T>
void multiply_complex(const LeafTile<Complex<T>>& t, Following<Complex<T>> /*next*/,
                      matmul::Store /*store*/) {
  constexpr index_t mr = ComplexShape<T>::mr, nr = ComplexShape<T>::nr, lanes = Simd<T>::lanes;
  const index_t panels = t.n / nr, rest = t.n - panels * nr, vectors = (rest + lanes - 1) / lanes;
  for (index_t i = 0; i < t.m; i += mr) {
    const auto& micro_of = complex_micros<T>.of[smaller(mr, t.m - i) - 1];
    ComplexRow<T> row{.k = t.k,
                      .a = parts_of(t.a) + 2 * (i / mr * t.a_sliver),
                      .b = parts_of(t.b),
                      .b_panel = 2 * t.b_panel,
                      .alpha_re = t.alpha.re,
                      .alpha_im = t.alpha.im,
                      .beta_re = t.beta.re,
                      .beta_im = t.beta.im,
                      .c = parts_of(t.c) + 2 * i * t.ldc,
                      .ldc = 2 * t.ldc,
                      .onto = t.onto == nullptr ? nullptr : parts_of(t.onto) + 2 * i * t.ldonto,
                      .ldonto = 2 * t.ldonto,
                      .panels = panels,
                      .tail = lanes};
    micro_of[ComplexShape<T>::vectors - 1](row);
    if (rest == 0) continue;
    row.b += panels * row.b_panel;
    row.c += 2 * panels * nr;
    row.onto = row.onto == nullptr ? nullptr : row.onto + 2 * panels * nr;
    row.panels = 1;
    row.tail = rest - (vectors - 1) * lanes;
    micro_of[vectors - 1](row);
  }
}

/// Numbers x(i, p) with consecutive i side by side, into groups of width.
template <class T, index_t width>
void pack_complex_runs(const Operand<Complex<T>>& x, index_t count, index_t k, T* packed) {
  const T sign = x.conjugated ? T{-1} : T{1};
  for (index_t p0 = 0; p0 < k; p0 += pack_steps) {
    const index_t p1 = smaller(p0 + pack_steps, k);
    for (index_t i = 0; i < count; i += width) {
      for (index_t p = p0; p < p1; ++p) {
        const T* const from = parts_of(x.data) + 2 * (i + p * x.step);
        T* const to = packed + 2 * (i * k + p * width);
        if (i + width <= count) {
          for (index_t j = 0; j < width; ++j) {
            to[j] = from[2 * j];
            to[width + j] = sign * from[2 * j + 1];
          }
          continue;
        }
        for (index_t j = 0; j < width; ++j) {
          const bool there = i + j < count;
          to[j] = there ? from[2 * j] : T{0};
          to[width + j] = there ? sign * from[2 * j + 1] : T{0};
        }
      }
    }
  }
}

/// Numbers x(i, p) with consecutive p side by side, into groups of width: as a real matrix, whose columns are
/// real and imaginary parts by turns.
template <class T, int R, index_t width>
void pack_complex_rows(const Operand<Complex<T>>& x, index_t count, index_t k, T* packed) {
  pack_rows<T, R, width>({parts_of(x.data), 2 * x.row, 1}, count, 2 * k, packed);
  if (!x.conjugated) return;
  for (index_t i = 0; i < count; i += width) {
    for (index_t p = 0; p < k; ++p) {
      T* const im = packed + 2 * (i * k + p * width) + width;
      for (index_t j = 0; j < width; ++j) im[j] = -im[j];
    }
  }
}

template <class T>
void pack_complex_a(Operand<Complex<T>> a, index_t rows, index_t k, Complex<T>* packed) {
  constexpr index_t mr = ComplexShape<T>::mr;
  if (a.row == 1) return pack_complex_runs<T, mr>(a, rows, k, parts_of(packed));
  pack_complex_rows<T, mr == 4 ? 4 : 8, mr>(a, rows, k, parts_of(packed));
}

template <class T>
void pack_complex_b(Operand<Complex<T>> b, index_t k, index_t cols, Complex<T>* packed) {
  constexpr index_t nr = ComplexShape<T>::nr;
  const Operand<Complex<T>> columns{b.data, b.step, b.row, b.conjugated};
  if (columns.row == 1) return pack_complex_runs<T, nr>(columns, cols, k, parts_of(packed));
  pack_complex_rows<T, static_cast<int>(Simd<T>::lanes), nr>(columns, cols, k, parts_of(packed));
}

template <class T>
void add_complex(const Complex<T>* value, Complex<T>* into, index_t n) {
  add(parts_of(value), parts_of(into), 2 * n);
}

template <class T>
constexpr LeafKernels<Complex<T>> complex_kernels{ComplexShape<T>::mr, ComplexShape<T>::nr,
                                                  multiply_complex<T>, pack_complex_a<T>,
                                                  pack_complex_b<T>,   add_complex<T>};

}  // namespace
}  // namespace tessera::TESSERA_ISA
