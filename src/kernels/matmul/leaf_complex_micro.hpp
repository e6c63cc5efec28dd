#pragma once
// Micro-kernels of complex elements: register-blocked tiles of C. Only for leaf_complex.hpp.

#include "kernels/matmul/leaf_complex_pack.hpp"
#include "kernels/matmul/leaf_micro.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

/// One sliver of A times `panels` panels of B, in elements of T: two per complex number.
template <class T>
struct ComplexRow {
  index_t k;
  const T* a;
  index_t a_row;  ///< row stride, if rows are unpacked
  const T* b;
  index_t b_panel;
  index_t b_last;  ///< from the first vector of a panel to the last, which may be in the next panel
  T alpha_re, alpha_im, beta_re, beta_im;
  T* c;
  index_t ldc;
  T* onto;
  index_t ldonto;
  index_t panels;
  index_t tail;    ///< complex columns in the last vector
  const T* below;  ///< the next sliver, prefetched during this one
  const T* later;  ///< panels of the next tile, a line every four steps, or always the same one
  index_t later_step;
};

/// The update of C by the sum of a chunk. Each has separate code, selected once per micro-tile.
enum class Entry {
  sum,      ///< c = sum
  scaled,   ///< c = alpha sum + beta c, both real
  sibling,  ///< onto += alpha sum + beta c, both real
  any,      ///< either, with complex alpha and beta
};

/// The two halves of a vector's interleaved numbers: all of them, or the first n.
template <class T>
struct Halves {
  typename Simd<T>::vec low, high;
};
template <class T, bool full>
TESSERA_INLINE Halves<T> load_halves(const T* from, index_t n) {
  using S = Simd<T>;
  if (full) return {S::load(from), S::load(from + S::lanes)};
  return {S::load(from, smaller(2 * n, S::lanes)),
          S::load(from + S::lanes, larger(2 * n - S::lanes, 0))};
}
template <class T, bool full>
TESSERA_INLINE void store_halves(T* to, const Halves<T>& x, index_t n) {
  using S = Simd<T>;
  if (full) {
    S::store(to, x.low);
    return S::store(to + S::lanes, x.high);
  }
  S::store(to, x.low, smaller(2 * n, S::lanes));
  S::store(to + S::lanes, x.high, larger(2 * n - S::lanes, 0));
}

/// Returns beta c + value; the imaginary part of beta multiplies the numbers with their parts
/// swapped.
template <class T>
TESSERA_INLINE typename Simd<T>::vec plus_scaled(const ComplexRow<T>& t,
                                                 typename Simd<T>::vec value,
                                                 typename Simd<T>::vec c) {
  using S = Simd<T>;
  if (t.beta_im != T{0}) {
    T signs[S::lanes];
    for (index_t i = 0; i < S::lanes; i += 2) {
      signs[i] = -t.beta_im;
      signs[i + 1] = t.beta_im;
    }
    value = S::mul_add(S::load(signs), simd::exchange<1>(c), value);
  }
  return S::mul_add(S::broadcast(t.beta_re), c, value);
}

/// Returns alpha * sum + beta * c for the numbers of one vector; does not read c when beta is 0.
template <class T, Entry entry, bool full>
TESSERA_INLINE Halves<T> updated(const ComplexRow<T>& t, const T* c, typename Simd<T>::vec re,
                                 typename Simd<T>::vec im) {
  using S = Simd<T>;
  if (entry == Entry::sum) return {simd::interleave_low(re, im), simd::interleave_high(re, im)};
  const auto alpha = S::broadcast(t.alpha_re);
  auto value_re = alpha * re, value_im = alpha * im;
  if (entry == Entry::any) {
    const auto alpha_im = S::broadcast(t.alpha_im);
    value_re = t.alpha_im != T{0} ? S::neg_mul_add(alpha_im, im, value_re) : value_re;
    value_im = t.alpha_im != T{0} ? S::mul_add(alpha_im, re, value_im) : value_im;
  }
  const Halves<T> value{simd::interleave_low(value_re, value_im),
                        simd::interleave_high(value_re, value_im)};
  if (t.beta_re == T{0} && (entry != Entry::any || t.beta_im == T{0})) return value;
  const Halves<T> old = load_halves<T, full>(c, t.tail);
  if (entry == Entry::any)
    return {plus_scaled(t, value.low, old.low), plus_scaled(t, value.high, old.high)};
  const auto beta = S::broadcast(t.beta_re);
  return {S::mul_add(beta, old.low, value.low), S::mul_add(beta, old.high, value.high)};
}

template <class T, Entry entry, bool full>
TESSERA_INLINE void put_vector(const ComplexRow<T>& t, const Place<T>& at, index_t from,
                               typename Simd<T>::vec re, typename Simd<T>::vec im) {
  const Halves<T> value = updated<T, entry, full>(t, at.c + from, re, im);
  if (entry == Entry::sum || entry == Entry::scaled || (entry == Entry::any && at.onto == nullptr))
    return store_halves<T, full>(at.c + from, value, t.tail);
  const Halves<T> sibling = load_halves<T, full>(at.onto + from, t.tail);
  store_halves<T, full>(at.onto + from, {sibling.low + value.low, sibling.high + value.high},
                        t.tail);
}

template <class T, int R, int V, Entry entry, bool full>
TESSERA_INLINE void put_tile(const ComplexRow<T>& t, Place<T> at,
                             const typename Simd<T>::vec (&re)[R][V],
                             const typename Simd<T>::vec (&im)[R][V]) {
  constexpr index_t width = 2 * Simd<T>::lanes, last = (V - 1) * width;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V - 1; ++v)
      put_vector<T, entry, true>(t, at, v * width, re[r][v], im[r][v]);
    put_vector<T, entry, full>(t, at, last, re[r][V - 1], im[r][V - 1]);
    at.c += at.ldc;
    if (at.onto != nullptr) at.onto += at.ldonto;
    if (opaque<T>) asm("" : "+r"(at.c), "+r"(at.onto));
  }
}

/// Stores the micro-tile to c or adds it to `onto`. Loads alpha and beta only here: earlier loads
/// would spill a sum.
template <class T, int R, int V>
TESSERA_INLINE void put(const ComplexRow<T>* row, Place<T> at,
                        const typename Simd<T>::vec (&re)[R][V],
                        const typename Simd<T>::vec (&im)[R][V]) {
  if (opaque<T>) asm("" : "+r"(row));
  const ComplexRow<T>& t = *row;
  const bool full = t.tail == Simd<T>::lanes;
  if (t.alpha_im != T{0} || t.beta_im != T{0}) {
    put_tile<T, R, V, Entry::any, false>(t, at, re, im);
  } else if (t.onto != nullptr) {
    full ? put_tile<T, R, V, Entry::sibling, true>(t, at, re, im)
         : put_tile<T, R, V, Entry::sibling, false>(t, at, re, im);
  } else if (t.beta_re == T{0} && t.alpha_re == T{1}) {
    full ? put_tile<T, R, V, Entry::sum, true>(t, at, re, im)
         : put_tile<T, R, V, Entry::sum, false>(t, at, re, im);
  } else {
    full ? put_tile<T, R, V, Entry::scaled, true>(t, at, re, im)
         : put_tile<T, R, V, Entry::scaled, false>(t, at, re, im);
  }
}

/// Panels in a tile of C, whose rows have 768 bytes (product.hpp).
template <class T>
constexpr index_t panels_of_tile = 768 /
                                   (2 * static_cast<index_t>(sizeof(T)) * ComplexShape<T>::nr);

/// Steps of k per prefetched line of the next sliver, so that the panels of a tile of C prefetch
/// all of it.
template <class T>
constexpr index_t steps_a_line = 64 * panels_of_tile<T> /
                                 (2 * ComplexShape<T>::mr * static_cast<index_t>(sizeof(T)));

/// Orders the loads from p and q after the computation of `sum`. Otherwise the compiler hoists the
/// loads and spills one of the 24 sums to the stack in every step.
#if defined(__AVX512F__)
template <class T>
TESSERA_INLINE void load_behind(typename Simd<T>::vec& sum, const T*& p, const T*& q) {
  asm("" : "+v"(sum), "+r"(p), "+r"(q));
}
#else
template <class T>
TESSERA_INLINE void load_behind(typename Simd<T>::vec& /*sum*/, const T*& /*p*/, const T*& /*q*/) {}
#endif

/// The sums of a micro-tile, real and imaginary, and the positions in its operands.
template <class T, int R, int V, bool packed_a>
struct ComplexSums {
  using S = Simd<T>;
  static constexpr index_t mr = ComplexShape<T>::mr, nr = ComplexShape<T>::nr;

  TESSERA_INLINE ComplexSums(const ComplexRow<T>& t, const T* panel)
      : row(packed_a ? 1 : t.a_row),
        b(panel),
        b_last(panel + t.b_last),
        a{t.a, t.a + smaller(3, R - 1) * row} {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) re[r][v] = im[r][v] = S::zero();
    }
  }

  TESSERA_INLINE typename S::vec part_of_a(int r, index_t part) const {
    return S::broadcast(packed_a ? a[0][part * mr + r] : a[r / 3][r % 3 * row + part]);
  }
  TESSERA_INLINE void step() {
    typename S::vec b_re[V], b_im[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const T* const from = v == V - 1 ? b_last : b + v * S::lanes;
      b_re[v] = S::load(from);
      b_im[v] = S::load(from + nr);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto a_re = part_of_a(r, 0);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        re[r][v] = S::mul_add(a_re, b_re[v], re[r][v]);
        im[r][v] = S::mul_add(a_re, b_im[v], im[r][v]);
      }
      const auto a_im = part_of_a(r, 1);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        re[r][v] = S::neg_mul_add(a_im, b_im[v], re[r][v]);
        im[r][v] = S::mul_add(a_im, b_re[v], im[r][v]);
      }
      load_behind<T>(im[r][V - 1], a[0], a[1]);
    }
    load_behind<T>(im[R - 1][V - 1], b, b_last);
    a[0] += packed_a ? 2 * mr : 2;
    b += 2 * nr;
    b_last += 2 * nr;
    if (!packed_a) {  // opaque to the compiler, which would otherwise keep a pointer per row
      a[1] += 2;
      asm("" : "+r"(a[0]), "+r"(a[1]));
    }
  }

  index_t row;
  const T *b, *b_last;
  const T* a[2];
  typename S::vec re[R][V], im[R][V];
};

/// Computes one micro-tile of R rows and V vectors at column j of C.
template <class T, int R, int V, bool packed_a>
TESSERA_INLINE void complex_micro(const ComplexRow<T>& t, const ComplexRow<T>& first, const T* b,
                                  index_t j, const T* soon, const T* later) {
  using S = Simd<T>;
  const T* c = t.c + 2 * j;
  const auto fetch_row_of_c = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 6
    for (int v = 0; v < 2 * V; ++v) __builtin_prefetch(c + v * S::lanes, 1);
    c += t.ldc;
    if (opaque<T>) asm("" : "+r"(c));
  };
  // Prefetched all at once, they would occupy all line-fill buffers of the first level and delay B.
  int c_rows = t.k >= 16 * R ? R : 0;
  if (c_rows == 0) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) fetch_row_of_c();
  }
  ComplexSums<T, R, V, packed_a> sums(t, b);
  index_t p = t.k;
  for (; p >= 4; p -= 4) {
    if (packed_a) {
#pragma GCC unroll 4
      for (index_t s = 0; s < 4; s += steps_a_line<T>) {
        if (steps_a_line<T> <= 4 || p % steps_a_line<T> < 4) {
          __builtin_prefetch(soon, 0, 2);
          soon += line<T>;
        }
      }
    } else if (p % (2 * line<T>) < 4) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) __builtin_prefetch(soon + r * sums.row, 0, 2);
      soon += 2 * line<T>;
    }
    __builtin_prefetch(later, 0, 2);
    later += t.later_step;
    if (c_rows > 0 && p % 16 < 4) {
      fetch_row_of_c();
      --c_rows;
    }
    sums.step();
    sums.step();
    sums.step();
    sums.step();
  }
  for (; p > 0; --p) sums.step();
  const bool into_c = t.onto == nullptr;
  put<T, R, V>(&first,
               {t.c + 2 * j, t.ldc, into_c ? nullptr : t.onto + 2 * j, into_c ? 0 : t.ldonto},
               sums.re, sums.im);
}

template <class T, int R, int V, bool packed_a>
void complex_row(const ComplexRow<T>& row) {
  const ComplexRow<T> t =
      row;  // a copy that no store to c can alias, so its fields stay in registers
  const T *below = t.below, *later = t.later;
  for (index_t j = 0; j < t.panels; ++j) {
    complex_micro<T, R, V, packed_a>(t, row, t.b + j * t.b_panel, j * V * Simd<T>::lanes, below,
                                     later);
    below += 2 * (packed_a ? ComplexShape<T>::mr : 1) * t.k / panels_of_tile<T>;
    later += t.k / 4 * t.later_step;
  }
}

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
