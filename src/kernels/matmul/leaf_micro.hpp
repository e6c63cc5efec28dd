#pragma once
// Micro-kernels: register-blocked tiles of C. Only for leaf_kernels.hpp.

#include "base/instrument.hpp"
#include "kernels/matmul/leaf_pack.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using matmul::LeafTile;
using matmul::Store;

/// The remaining prefetches of unpacked operands: with every four steps a line of a, run of a row
/// after run, and a line of b, in memory order, so that the hardware prefetcher follows.
template <class T>
struct Soon {
  const T *a, *a_end;  ///< position in the current run, and its end
  index_t run, row;    ///< length of a run, and stride between runs
  index_t left;        ///< lines of a yet to be prefetched
  const T* b;
};

/// Slivers of A times `panels` panels of B, each V vectors wide.
template <class T>
struct alignas(64) MicroRow {
  index_t k;
  const T* a;
  index_t a_row, a_step;
  const T* b;
  index_t b_step, b_panel;
  T alpha, beta;
  T* c;
  index_t ldc;
  T* onto;
  index_t ldonto;
  const T* below;  ///< packed b: the next sliver of a, of this tile or the next
  const T* later;  ///< packed b: the next tile's b, advanced by later_step per vector
  index_t later_step;
  index_t panels;
  index_t tail;  ///< columns in the last vector
  Store store;
};

/// The layout of the operands: both packed as Shape<T>; only b packed, with rows of a in place; or
/// both unpacked (free), with or without further prefetches, and `cut` if the last vector of b is
/// partial. On Intel's cores a masked load occupies an fma slot: half a cycle of the 8 or 12 of a
/// step.
enum class Form { packed, packed_b, free, free_cut, fetching, fetching_cut };
constexpr bool is_packed_b(Form form) { return form == Form::packed || form == Form::packed_b; }
constexpr bool is_cut(Form form) { return form == Form::free_cut || form == Form::fetching_cut; }
constexpr bool fetches(Form form) { return form == Form::fetching || form == Form::fetching_cut; }

/// Returns the form whose code serves `form`. Unpacked forms read packed operands, too, and
/// prefetches are not traced: traced elements report the same accesses from two forms.
template <class T>
constexpr Form coded(Form form) {
  if (!is_traced<T>) return form;
  return is_cut(form) ? Form::free_cut : Form::free;
}

/// The update of C by the sum of a chunk. Each has separate code, selected once per micro-tile.
enum class Into {
  sum,      ///< c = sum
  fresh,    ///< c = alpha sum
  past,     ///< c = alpha sum, by streaming stores
  c,        ///< c = alpha sum + beta c
  sibling,  ///< onto += alpha sum, or alpha sum + beta c
};

template <class T>
constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));

template <class T, bool full>
TESSERA_INLINE typename Simd<T>::vec load_columns(const T* from, index_t n) {
  return full ? Simd<T>::load(from) : Simd<T>::load(from, n);
}

/// Whether addresses in C are opaque to the compiler and computed row by row: it would otherwise
/// compute all beforehand and spill them. With 16 registers opacity makes it spill sums instead,
/// 0.59 for 0.75 of peak.
template <class T>
constexpr bool opaque = Simd<T>::registers == 32;

template <class T>
struct Update {
  typename Simd<T>::vec alpha, beta;
  bool reads_c;
  index_t tail;
};

/// Returns alpha * sum + beta * c for one vector; does not read c when beta is 0.
template <class T, Into into, bool full>
TESSERA_INLINE typename Simd<T>::vec updated(const Update<T>& u, typename Simd<T>::vec sum,
                                             const T* c) {
  if (into == Into::fresh || into == Into::past || (into == Into::sibling && !u.reads_c))
    return u.alpha * sum;
  return Simd<T>::mul_add(u.alpha, sum, u.beta * load_columns<T, full>(c, u.tail));
}

/// Stores one vector of the micro-tile, whose place in c is `c`, to `to`, which differs from c only
/// for a sibling.
template <class T, Into into, bool full>
TESSERA_INLINE void put_vector(const Update<T>& u, const T* c, T* to, typename Simd<T>::vec sum) {
  using S = Simd<T>;
  auto value = into == Into::sum ? sum : updated<T, into, full>(u, sum, c);
  if (into == Into::sibling) value = load_columns<T, full>(to, u.tail) + value;
  if constexpr (into == Into::past)
    S::stream(to, value);
  else
    full ? S::store(to, value) : S::store(to, value, u.tail);
}

template <class T>
struct Place {
  T* c;
  index_t ldc;
  T* onto;
  index_t ldonto;
};

template <class T, int R, int V, Into into, bool full>
TESSERA_INLINE void put_tile(const MicroRow<T>& t, Place<T> at,
                             const typename Simd<T>::vec (&sum)[R][V]) {
  constexpr index_t lanes = Simd<T>::lanes, last = (V - 1) * lanes;
  const Update<T> u{Simd<T>::broadcast(&t.alpha), Simd<T>::broadcast(&t.beta), t.beta != T{0},
                    t.tail};
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T* const to = into == Into::sibling ? at.onto : at.c;
#pragma GCC unroll 4
    for (int v = 0; v < V - 1; ++v)
      put_vector<T, into, true>(u, at.c + v * lanes, to + v * lanes, sum[r][v]);
    put_vector<T, into, full>(u, at.c + last, to + last, sum[r][V - 1]);
    at.c += at.ldc;
    if (into == Into::sibling) at.onto += at.ldonto;
    if (opaque<T>) asm("" : "+r"(at.c), "+r"(at.onto));
  }
}

/// Stores as put() below: the same accesses and numbers from fewer kinds of update.
template <class T, int R, int V>
TESSERA_INLINE void put_traced(const MicroRow<T>& t, Place<T> at,
                               const typename Simd<T>::vec (&sum)[R][V]) {
  if (at.onto != nullptr) {
    put_tile<T, R, V, Into::sibling, false>(t, at, sum);
  } else if (t.beta == T{0}) {
    put_tile<T, R, V, Into::fresh, false>(t, at, sum);
  } else {
    put_tile<T, R, V, Into::c, false>(t, at, sum);
  }
}

/// Stores the micro-tile to c or adds it to `onto`. Loads alpha and beta only here: earlier loads
/// would spill a sum.
template <class T, int R, int V, Form form>
TESSERA_INLINE void put(const MicroRow<T>* row, Place<T> at,
                        const typename Simd<T>::vec (&sum)[R][V]) {
  if (opaque<T>) asm("" : "+r"(row));
  const MicroRow<T>& t = *row;
  if constexpr (is_traced<T>) return put_traced<T, R, V>(t, at, sum);
  const bool full = is_packed_b(form) ? t.tail == Simd<T>::lanes : !is_cut(form);
  if (at.onto != nullptr) {
    full ? put_tile<T, R, V, Into::sibling, true>(t, at, sum)
         : put_tile<T, R, V, Into::sibling, false>(t, at, sum);
  } else if (is_packed_b(form) && t.store == Store::past_caches && full) {
    put_tile<T, R, V, Into::past, true>(t, at, sum);
  } else if (t.beta == T{0} && t.alpha == T{1}) {
    full ? put_tile<T, R, V, Into::sum, true>(t, at, sum)
         : put_tile<T, R, V, Into::sum, false>(t, at, sum);
  } else if (t.beta == T{0}) {
    full ? put_tile<T, R, V, Into::fresh, true>(t, at, sum)
         : put_tile<T, R, V, Into::fresh, false>(t, at, sum);
  } else {
    full ? put_tile<T, R, V, Into::c, true>(t, at, sum)
         : put_tile<T, R, V, Into::c, false>(t, at, sum);
  }
}

/// The sums of a micro-tile and the positions in its operands.
template <class T, int R, int V, Form form>
struct MicroSums {
  using S = Simd<T>;
  static constexpr bool packed = form == Form::packed;

  TESSERA_INLINE MicroSums(const MicroRow<T>& t, const T* panel)
      : row(packed ? 1 : t.a_row),
        a_step(packed                   ? Shape<T>::mr
               : form == Form::packed_b ? 1
                                        : t.a_step),
        b_step(is_packed_b(form) ? Shape<T>::nr : t.b_step),
        tail(t.tail),
        a{t.a, t.a + smaller(3, R - 1) * row, t.a + smaller(6, R - 1) * row},
        b(panel) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::zero();
    }
  }

  TESSERA_INLINE void step() {
    typename S::vec bp[V];
#pragma GCC unroll 4
    for (int v = 0; v < V - 1; ++v) bp[v] = S::load(b + v * S::lanes);
    bp[V - 1] =
        is_cut(form) ? S::load(b + (V - 1) * S::lanes, tail) : S::load(b + (V - 1) * S::lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto ar = S::broadcast(packed ? a[0] + r : a[r / 3] + r % 3 * row);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::mul_add(ar, bp[v], sum[r][v]);
    }
    a[0] += a_step;
    b += b_step;
    if (!packed) {  // three pointers, opaque to the compiler, which would otherwise keep one per
                    // row
      a[1] += a_step;
      a[2] += a_step;
      asm("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]));
    }
  }
  TESSERA_INLINE void four_steps() {
    step();
    step();
    step();
    step();
  }

  index_t row, a_step, b_step, tail;
  const T* a[3];
  const T* b;
  typename S::vec sum[R][V];
};

/// Prefetches a line of a and one of b, in memory order.
template <class T>
TESSERA_INLINE void fetch_next(Soon<T>& more) {
  __builtin_prefetch(more.a, 0, 2);
  __builtin_prefetch(more.b, 0, 2);
  more.a += line<T>;
  more.b += line<T>;
  if (more.a >= more.a_end) {
    more.a_end += more.row;
    more.a = more.a_end - more.run;
  }
}

/// Computes c[0:R, j:j+V*lanes] = alpha * a[0:R, 0:k] * b[0:k, :] + beta * c. Packed: prefetches k
/// / 4 vectors from `soon` on, or k / 32 lines of R rows each, and from `later` on. Unpacked b may
/// end with the last column, so nothing is loaded beyond it.
template <class T, int R, int V, Form form>
TESSERA_INLINE void micro(const MicroRow<T>& t, const MicroRow<T>& first, const T* b, index_t j,
                          const T* soon, const T* later, Soon<T>& more) {
  using S = Simd<T>;
  constexpr bool packed_b = is_packed_b(form);
  const T* c = t.c + j;
  const bool fetches_c = !packed_b || t.store == Store::cached,
             row_by_row = packed_b && t.k >= 32 * R;
  const auto fetch_row_of_c = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + v * S::lanes, 1);
    c += t.ldc;
  };
  if (fetches_c && !row_by_row) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      fetch_row_of_c();
      if (opaque<T>) asm("" : "+r"(c));
    }
  }
  MicroSums<T, R, V, form> sums(t, b);
  index_t p = t.k;
  if (fetches(form)) {
    for (; p >= 4 && more.left > 0; p -= 4, --more.left) {
      fetch_next(more);
      sums.four_steps();
    }
  }
  int c_rows = fetches_c && row_by_row ? R : 0;
  for (; p >= 4; p -= 4) {
    if (form == Form::packed) {
      __builtin_prefetch(soon, 0, 2);
      soon += S::lanes;
    }
    if (packed_b) {
      __builtin_prefetch(later, 0, 2);
      later += t.later_step;
    }
    if (form == Form::packed_b && p % 32 < 4) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) __builtin_prefetch(soon + r * sums.row, 0, 2);
      soon += line<T>;
    }
    if (packed_b && c_rows > 0 && p % 32 < 4) {
      fetch_row_of_c();
      --c_rows;
    }
    sums.four_steps();
  }
  for (; p > 0; --p) sums.step();
  put<T, R, V, form>(&first, {t.c + j, t.ldc, t.onto == nullptr ? nullptr : t.onto + j, t.ldonto},
                     sums.sum);
}

/// Computes `slivers` slivers of R rows below each other; only one if b is packed. `soon`:
/// prefetches, if there are any.
template <class T, int R, int V, Form form>
void micro_rows(const MicroRow<T>& rows, index_t slivers, Soon<T>* soon) {
  MicroRow<T> t = rows;  // a copy that no store to c can alias, so its fields stay in registers
  Soon<T> more;
  if constexpr (fetches(form)) more = *soon;
  for (index_t s = 0; s < slivers; ++s) {
    const T* below = t.below;
    const T* later = t.later;
    for (index_t j = 0; j < t.panels; ++j) {
      micro<T, R, V, form>(t, rows, t.b + j * t.b_panel, j * V * Simd<T>::lanes, below, later,
                           more);
      below += form == Form::packed_b ? t.k / 32 * line<T> : t.k / 4 * Simd<T>::lanes;
      later += t.k / 4 * t.later_step;
    }
    if (is_packed_b(form)) return;
    t.a += R * t.a_row;
    t.c += R * t.ldc;
    if (t.onto != nullptr) t.onto += R * t.ldonto;
  }
  if constexpr (fetches(form)) *soon = more;
}

template <class T>
using Micro = void (*)(const MicroRow<T>&, index_t slivers, Soon<T>* soon);

// Rows of a micro-tile of four vectors. Few rows where a strip of b stays in the first-level cache:
// 16 stores drain while the next tile begins (24, Zen 4, f64 n = 64: 0.91 for 0.97 of peak).
// Vectors from the second level, or unaligned ones that take two loads each, need reuse by more
// rows.
constexpr int rows_of_few = 4, rows_of_many = 6;
constexpr index_t few_steps = 96;  // steps of four lines each: 24 KiB

/// of[R - 1][V - 1]: edges use the kernel of their size. Four vectors only where both operands are
/// unpacked, and further prefetches only at the full heights.
template <class T, Form form, int R, int V>
constexpr Micro<T> pick() {
  constexpr bool wide = Simd<T>::registers == 32 && V == 4 && !is_packed_b(form),
                 full = wide ? R == rows_of_few || R == rows_of_many : R == Shape<T>::mr;
  if constexpr (R <= (wide ? rows_of_many : Shape<T>::mr) && (V <= Shape<T>::vectors || wide) &&
                (full || !fetches(form)))
    return micro_rows<T, R, V, form>;
  return nullptr;
}
template <class T, Form form>
struct Micros {
  Micro<T> of[8][4] = {
      {pick<T, form, 1, 1>(), pick<T, form, 1, 2>(), pick<T, form, 1, 3>(), pick<T, form, 1, 4>()},
      {pick<T, form, 2, 1>(), pick<T, form, 2, 2>(), pick<T, form, 2, 3>(), pick<T, form, 2, 4>()},
      {pick<T, form, 3, 1>(), pick<T, form, 3, 2>(), pick<T, form, 3, 3>(), pick<T, form, 3, 4>()},
      {pick<T, form, 4, 1>(), pick<T, form, 4, 2>(), pick<T, form, 4, 3>(), pick<T, form, 4, 4>()},
      {pick<T, form, 5, 1>(), pick<T, form, 5, 2>(), pick<T, form, 5, 3>(), pick<T, form, 5, 4>()},
      {pick<T, form, 6, 1>(), pick<T, form, 6, 2>(), pick<T, form, 6, 3>(), pick<T, form, 6, 4>()},
      {pick<T, form, 7, 1>(), pick<T, form, 7, 2>(), pick<T, form, 7, 3>(), pick<T, form, 7, 4>()},
      {pick<T, form, 8, 1>(), pick<T, form, 8, 2>(), pick<T, form, 8, 3>(), pick<T, form, 8, 4>()}};
};
template <class T, Form form>
constexpr Micros<T, coded<T>(form)> micros{};

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
