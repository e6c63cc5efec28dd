#pragma once
// Micro-tiles: what a kernel of a leaf does between two of its loops. Only for leaf_kernels.hpp.

#include "kernels/matmul/leaf_pack.hpp"

namespace tessera::TESSERA_ISA {
namespace {

using matmul::LeafTile;
using matmul::Store;

/// Of operands that lie free: what is to be fetched yet. With every four steps a line of a, run of
/// a row after run, and a line of b: in the order of memory, so that the hardware runs ahead.
template <class T>
struct Soon {
  const T *a, *a_end;  ///< of this run
  index_t run, row;    ///< its length, and from one to the next
  index_t left;        ///< lines of a
  const T* b;
};

/// Slivers of A against `panels` panels of B, each V vectors wide.
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
  const T* below;  ///< b packed: the next sliver of a, of this tile or the next
  const T* later;  ///< b packed: of the next tile's b, so much a vector
  index_t later_step;
  index_t panels;
  index_t tail;  ///< columns in the last vector
  Store store;
};

/// How operands lie: packed as Shape<T> has it, b alone so beside rows of a, or free, with or
/// without more of them to be fetched; free and cut where the last vector of b is a part of one. On
/// Intel's cores a load with a mask takes a place among the fma: half a cycle of the 8 or 12 of a
/// step.
enum class Lie { packed, packed_b, free, free_cut, fetching, fetching_cut };
constexpr bool is_packed_b(Lie lie) { return lie == Lie::packed || lie == Lie::packed_b; }
constexpr bool is_cut(Lie lie) { return lie == Lie::free_cut || lie == Lie::fetching_cut; }
constexpr bool fetches(Lie lie) { return lie == Lie::fetching || lie == Lie::fetching_cut; }

/// What happens to the sum of a chunk; each its own code, chosen once a micro-tile.
enum class Into {
  sum,      ///< c = sum
  fresh,    ///< c = alpha sum
  past,     ///< the same, past the caches
  c,        ///< c = alpha sum + beta c
  sibling,  ///< onto += one of the two
};

template <class T>
constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));

template <class T, bool full>
TESSERA_INLINE typename Simd<T>::vec load_columns(const T* from, index_t n) {
  return full ? Simd<T>::load(from) : Simd<T>::load(from, n);
}

/// Addresses in C are made row by row: the compiler would make all beforehand and spill them. With
/// 16 registers it would spill sums instead, 0.59 for 0.75 of peak.
template <class T>
constexpr bool opaque = Simd<T>::registers == 32;

template <class T>
struct Update {
  typename Simd<T>::vec alpha, beta;
  bool reads_c;
  index_t tail;
};

/// alpha * sum + beta * c for one vector; not reading c when beta is 0.
template <class T, Into into, bool full>
TESSERA_INLINE typename Simd<T>::vec updated(const Update<T>& u, typename Simd<T>::vec sum,
                                             const T* c) {
  if (into == Into::fresh || into == Into::past || (into == Into::sibling && !u.reads_c))
    return u.alpha * sum;
  return Simd<T>::mul_add(u.alpha, sum, u.beta * load_columns<T, full>(c, u.tail));
}

/// One vector of the micro-tile, whose place in c is here; it goes to `to`, the same but for a
/// sibling.
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

/// The micro-tile into c, or added to `onto`. Reads alpha and its like now: before, a sum would be
/// spilled.
template <class T, int R, int V, Lie lie>
TESSERA_INLINE void put(const MicroRow<T>* row, Place<T> at,
                        const typename Simd<T>::vec (&sum)[R][V]) {
  if (opaque<T>) asm("" : "+r"(row));
  const MicroRow<T>& t = *row;
  const bool full = is_packed_b(lie) ? t.tail == Simd<T>::lanes : !is_cut(lie);
  if (at.onto != nullptr) {
    full ? put_tile<T, R, V, Into::sibling, true>(t, at, sum)
         : put_tile<T, R, V, Into::sibling, false>(t, at, sum);
  } else if (is_packed_b(lie) && t.store == Store::past_caches && full) {
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

/// c[0:R, j:j+V*lanes] = alpha * a[0:R, 0:k] * b[0:k, :] + beta * c. Packed: k / 4 vectors are
/// fetched meanwhile from `soon` on, or k / 32 lines of R rows each, and from `later` on. Where b
/// lies free it may end with the last column, so nothing is loaded beyond it.
template <class T, int R, int V, Lie lie>
TESSERA_INLINE void micro(const MicroRow<T>& t, const MicroRow<T>& first, const T* b, index_t j,
                          const T* soon, const T* later, Soon<T>& more) {
  using S = Simd<T>;
  constexpr bool packed = lie == Lie::packed, rows_of_a = lie == Lie::packed_b,
                 packed_b = is_packed_b(lie);
  const index_t row = packed ? 1 : t.a_row;
  const index_t a_step = packed ? Shape<T>::mr : rows_of_a ? 1 : t.a_step;
  const index_t b_step = packed_b ? Shape<T>::nr : t.b_step;
  const T* c = t.c + j;
  const bool c_comes = !packed_b || t.store == Store::cached,
             row_by_row = packed_b && t.k >= 32 * R;
  if (c_comes && !row_by_row) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) __builtin_prefetch(c + v * S::lanes, 1);
      c += t.ldc;
      if (opaque<T>) asm("" : "+r"(c));
    }
  }
  typename S::vec sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = S::zero();
  }
  const T* a[] = {t.a, t.a + smaller(3, R - 1) * row, t.a + smaller(6, R - 1) * row};
  const auto step = [&]() __attribute__((always_inline)) {
    typename S::vec bp[V];
#pragma GCC unroll 4
    for (int v = 0; v < V - 1; ++v) bp[v] = S::load(b + v * S::lanes);
    bp[V - 1] =
        is_cut(lie) ? S::load(b + (V - 1) * S::lanes, t.tail) : S::load(b + (V - 1) * S::lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto ar = S::broadcast(packed ? a[0] + r : a[r / 3] + r % 3 * row);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::mul_add(ar, bp[v], sum[r][v]);
    }
    a[0] += a_step;
    b += b_step;
    if (!packed) {  // three pointers, opaque to the compiler: it would keep one for every row
      a[1] += a_step;
      a[2] += a_step;
      asm("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]));
    }
  };
  const auto four_steps = [&]() __attribute__((always_inline)) {
    step();
    step();
    step();
    step();
  };
  index_t p = t.k;
  if (fetches(lie)) {
    for (; p >= 4 && more.left > 0; p -= 4, --more.left) {
      __builtin_prefetch(more.a, 0, 2);
      __builtin_prefetch(more.b, 0, 2);
      more.a += line<T>;
      more.b += line<T>;
      if (more.a >= more.a_end) {
        more.a_end += more.row;
        more.a = more.a_end - more.run;
      }
      four_steps();
    }
  }
  int c_rows = c_comes && row_by_row ? R : 0;
  for (; p >= 4; p -= 4) {
    if (packed) {
      __builtin_prefetch(soon, 0, 2);
      soon += S::lanes;
    }
    if (packed_b) {
      __builtin_prefetch(later, 0, 2);
      later += t.later_step;
    }
    if (rows_of_a && p % 32 < 4) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) __builtin_prefetch(soon + r * row, 0, 2);
      soon += line<T>;
    }
    if (packed_b && c_rows > 0 && p % 32 < 4) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) __builtin_prefetch(c + v * S::lanes, 1);
      c += t.ldc;
      --c_rows;
    }
    four_steps();
  }
  for (; p > 0; --p) step();
  put<T, R, V, lie>(&first, {t.c + j, t.ldc, t.onto == nullptr ? nullptr : t.onto + j, t.ldonto},
                    sum);
}

/// So many slivers of R rows one below the other; only one where b is packed. `soon`: where there
/// is more.
template <class T, int R, int V, Lie lie>
void micro_rows(const MicroRow<T>& rows, index_t slivers, Soon<T>* soon) {
  MicroRow<T> t =
      rows;  // a copy that no store to c can change, so that its fields stay in registers
  Soon<T> more;
  if constexpr (fetches(lie)) more = *soon;
  for (index_t s = 0; s < slivers; ++s) {
    const T* below = t.below;
    const T* later = t.later;
    for (index_t j = 0; j < t.panels; ++j) {
      micro<T, R, V, lie>(t, rows, t.b + j * t.b_panel, j * V * Simd<T>::lanes, below, later, more);
      below += lie == Lie::packed_b ? t.k / 32 * line<T> : t.k / 4 * Simd<T>::lanes;
      later += t.k / 4 * t.later_step;
    }
    if (is_packed_b(lie)) return;
    t.a += R * t.a_row;
    t.c += R * t.ldc;
    if (t.onto != nullptr) t.onto += R * t.ldonto;
  }
  if constexpr (fetches(lie)) *soon = more;
}

template <class T>
using Micro = void (*)(const MicroRow<T>&, index_t slivers, Soon<T>* soon);

// Rows of a micro-tile of four vectors. Few where a strip of b stays in the first level: 16 stores
// pass while the next begins (24, Zen 4, f64 n = 64: 0.91 for 0.97 of peak). Vectors that come from
// the second level, or begin within a line and are two loads each, serve more rows.
constexpr int rows_of_few = 4, rows_of_many = 6;
constexpr index_t few_steps = 96;  // of four lines: 24 KiB

/// of[R - 1][V - 1]: edges run the kernel of their size. Only where both lie free there are four
/// vectors.
template <class T, Lie lie, int R, int V>
constexpr Micro<T> pick() {
  constexpr bool wide =
      !is_packed_b(lie) && Simd<T>::registers == 32 && V == 4 && R <= rows_of_many;
  if constexpr (R <= Shape<T>::mr && (V <= Shape<T>::vectors || wide))
    return micro_rows<T, R, V, lie>;
  return nullptr;
}
template <class T, Lie lie>
struct Micros {
  Micro<T> of[8][4] = {
      {pick<T, lie, 1, 1>(), pick<T, lie, 1, 2>(), pick<T, lie, 1, 3>(), pick<T, lie, 1, 4>()},
      {pick<T, lie, 2, 1>(), pick<T, lie, 2, 2>(), pick<T, lie, 2, 3>(), pick<T, lie, 2, 4>()},
      {pick<T, lie, 3, 1>(), pick<T, lie, 3, 2>(), pick<T, lie, 3, 3>(), pick<T, lie, 3, 4>()},
      {pick<T, lie, 4, 1>(), pick<T, lie, 4, 2>(), pick<T, lie, 4, 3>(), pick<T, lie, 4, 4>()},
      {pick<T, lie, 5, 1>(), pick<T, lie, 5, 2>(), pick<T, lie, 5, 3>(), pick<T, lie, 5, 4>()},
      {pick<T, lie, 6, 1>(), pick<T, lie, 6, 2>(), pick<T, lie, 6, 3>(), pick<T, lie, 6, 4>()},
      {pick<T, lie, 7, 1>(), pick<T, lie, 7, 2>(), pick<T, lie, 7, 3>(), pick<T, lie, 7, 4>()},
      {pick<T, lie, 8, 1>(), pick<T, lie, 8, 2>(), pick<T, lie, 8, 3>(), pick<T, lie, 8, 4>()}};
};
template <class T, Lie lie>
constexpr Micros<T, lie> micros{};

}  // namespace
}  // namespace tessera::TESSERA_ISA
