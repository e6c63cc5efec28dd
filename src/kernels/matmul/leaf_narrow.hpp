#pragma once
// Products of a few columns, with four rows per vector. Only for leaf_kernels.hpp.

#include "base/simd/number.hpp"
#include "base/simd/transpose.hpp"
#include "kernels/matmul/leaf.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using simd::Simd;

/// A quarter of a 64-byte vector: columns of one of its four rows. `lanes` is 0 if the instruction
/// set has no such vector.
template <class T>
struct Quarter {
  static constexpr index_t lanes = 0;
};

#if defined(__AVX512F__)
template <class T>
struct Joined {
  using part = simd::Vector<T, simd::block_bytes>;
  using vec = simd::Vector<T>;
  static constexpr index_t lanes = simd::words_in_block<T>;

  TESSERA_INLINE static part load(const T* p) { return simd::load<part>(p); }
  TESSERA_INLINE static part load(const T* p, index_t n) { return simd::load_first<part>(p, n); }
  TESSERA_INLINE static void store(T* p, part v, index_t n) { simd::store_between(p, v, 0, n); }
  TESSERA_INLINE static vec join(part a, part b, part c, part d) {
    return simd::join(simd::join(a, b), simd::join(c, d));
  }
};
template <>
struct Quarter<float> : Joined<float> {};
template <>
struct Quarter<double> : Joined<double> {};
#endif

using matmul::LeafTile;

/// Returns how many of n columns are in quarter q.
template <class T>
TESSERA_INLINE index_t columns_of(index_t n, index_t q) {
  const index_t here = n - q * Quarter<T>::lanes;
  return here < Quarter<T>::lanes ? here : Quarter<T>::lanes;
}

/// Returns four rows of a quarter of columns, ld apart, or the first n columns of each.
template <class T, class... N>
TESSERA_INLINE typename Simd<T>::vec four_rows(const T* x, index_t ld, N... n) {
  using Q = Quarter<T>;
  return Q::join(Q::load(x, n...), Q::load(x + ld, n...), Q::load(x + 2 * ld, n...),
                 Q::load(x + 3 * ld, n...));
}

/// Stores the sums of rows [i, i + 4 groups) to c or adds them to `onto`.
template <class T, int quarters, int groups>
TESSERA_INLINE void put_narrow(const LeafTile<T>& t, index_t i,
                               const typename Simd<T>::vec (&sum)[groups][quarters]) {
  using Q = Quarter<T>;
  using S = Simd<T>;
  for (int q = 0; q < quarters; ++q) {
    const index_t n = columns_of<T>(t.n, q);
    for (int g = 0; g < groups; ++g) {
      const T* const c = t.c + (i + 4 * g) * t.ldc + q * Q::lanes;
      auto value = S::broadcast(&t.alpha);
      value = t.beta == T{0}
                  ? value * sum[g][q]
                  : S::mul_add(value, sum[g][q], S::broadcast(&t.beta) * four_rows(c, t.ldc, n));
      const index_t ld = t.onto == nullptr ? t.ldc : t.ldonto;
      T* const to = (t.onto == nullptr ? t.c : t.onto) + (i + 4 * g) * ld + q * Q::lanes;
      if (t.onto != nullptr) value = four_rows(to, ld, n) + value;
      Q::store(to, simd::block<0>(value), n);
      Q::store(to + ld, simd::block<1>(value), n);
      Q::store(to + 2 * ld, simd::block<2>(value), n);
      Q::store(to + 3 * ld, simd::block<3>(value), n);
    }
  }
}

/// Multiplies rows [i, i + 4 groups) of t by one or two quarters of columns, in rows of `b` that
/// are b_step apart; both quarters share each broadcast of a.
template <class T, int quarters, int groups>
void narrow_rows(const LeafTile<T>& t, index_t i, const T* b, index_t b_step) {
  using Q = Quarter<T>;
  using S = Simd<T>;
  typename S::vec sum[groups][quarters];
#pragma GCC unroll 8
  for (auto& rows : sum) {
#pragma GCC unroll 2
    for (auto& s : rows) s = S::zero();
  }
  const T* a = t.a + i * t.a_row;
  index_t p = 0;
  for (; p + Q::lanes <= t.k; p += Q::lanes, a += Q::lanes) {
    typename S::vec by[Q::lanes][quarters];
#pragma GCC unroll 4
    for (int step = 0; step < Q::lanes; ++step, b += b_step) {
#pragma GCC unroll 2
      for (int q = 0; q < quarters; ++q)
        by[step][q] = simd::repeat_block<typename S::vec>(b + q * Q::lanes);
    }
    const T* rows = a;
#pragma GCC unroll 8
    for (int g = 0; g < groups; ++g, rows += 4 * t.a_row) {
      asm(""
          : "+r"(rows));  // one pointer, opaque to the compiler, which would otherwise keep one
                          // per row
      const auto value = four_rows(rows, t.a_row);
      const auto add = [&]<int step>() __attribute__((always_inline)) {
        const auto spread = simd::spread_in_blocks<step>(value);
#pragma GCC unroll 2
        for (int q = 0; q < quarters; ++q) sum[g][q] = S::mul_add(spread, by[step][q], sum[g][q]);
      };
      add.template operator()<0>();
      add.template operator()<1>();
      if constexpr (Q::lanes == 4) {
        add.template operator()<2>();
        add.template operator()<3>();
      }
    }
  }
  for (; p < t.k; ++p, ++a, b += b_step) {
    for (int q = 0; q < quarters; ++q) {
      const auto by = simd::repeat_block<typename S::vec>(b + q * Q::lanes);
      for (int g = 0; g < groups; ++g)
        sum[g][q] = S::mul_add(
            simd::spread_in_blocks<0>(four_rows(a + 4 * g * t.a_row, t.a_row, 1)), by, sum[g][q]);
    }
  }
  put_narrow<T, quarters, groups>(t, i, sum);
}

constexpr index_t longest_narrow =
    512;  // limit of k: columns of b are copied to the stack, unless they are whole quarters

/// Returns whether the last `columns` columns of the tile qualify for a narrow product.
template <class T>
constexpr bool is_narrow(const LeafTile<T>& t, index_t columns) {
  return columns > 0 && columns <= 2 * Quarter<T>::lanes && t.a_step == 1 &&
         t.k <= longest_narrow && t.m >= 4;
}

template <class T, int quarters>
void multiply_quarters(const LeafTile<T>& t) {
  using Q = Quarter<T>;
  constexpr index_t width = quarters * Q::lanes;
  T copy[longest_narrow * width];
  const bool whole = t.n == width;
  for (index_t p = 0; !whole && p < t.k; ++p) {
    for (int q = 0; q < quarters; ++q)
      Q::store(copy + p * width + q * Q::lanes,
               Q::load(t.b + p * t.b_step + q * Q::lanes, columns_of<T>(t.n, q)), Q::lanes);
  }
  const T* const b = whole ? t.b : copy;
  const index_t b_step = whole ? t.b_step : width;
  constexpr void (*of[])(const LeafTile<T>&, index_t, const T*, index_t) = {
      narrow_rows<T, quarters, 1>, narrow_rows<T, quarters, 2>, narrow_rows<T, quarters, 3>,
      narrow_rows<T, quarters, 4>, narrow_rows<T, quarters, 5>, narrow_rows<T, quarters, 6>,
      narrow_rows<T, quarters, 7>, narrow_rows<T, quarters, 8>};
  constexpr index_t most = quarters == 1 ? 8 : 6;  // bounded by the registers for sums
  const index_t groups = t.m / 4;
  index_t calls = (groups + most - 1) / most;
  for (index_t done = 0; done < groups; --calls) {
    const index_t take = (groups - done + calls - 1) / calls;
    of[take - 1](t, 4 * done, b, b_step);
    done += take;
  }
}

/// Multiplies a tile of at most two quarters of a vector's columns and a multiple of four rows.
/// Every element is the same chain of fma as in a wide tile.
template <class T>
void multiply_narrow(const LeafTile<T>& t) {
  if constexpr (Quarter<T>::lanes > 0) {
    t.n <= Quarter<T>::lanes ? multiply_quarters<T, 1>(t) : multiply_quarters<T, 2>(t);
  }
}

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
