#pragma once
// The shape of the micro-tile, and packing of operands for it. Only for leaf_kernels.hpp.

#include "base/simd/number.hpp"
#include "base/simd/transpose.hpp"
#include "kernels/matmul/leaf.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using matmul::Operand;
using simd::Simd;

constexpr index_t smaller(index_t x, index_t y) { return x < y ? x : y; }

/// The micro-tile: registers hold mr x vectors accumulators, one row of B and one element of A.
template <class T>
struct Shape {
  using S = Simd<T>;
  static constexpr int mr = S::registers == 32 ? 8 : 6;
  static constexpr int vectors = S::registers == 32 ? 3 : 2;
  static constexpr index_t nr = vectors * S::lanes;
};

/// Packs x(i, p), i < count <= R, p < length <= lanes, with contiguous rows, to packed[p * width +
/// i] for i < min(R, width), 0 where i >= count. From is T, or halves that are converted.
template <class T, int R, index_t width, class From>
TESSERA_INLINE void pack_transposed(const From* x, index_t row, index_t count, index_t length,
                                    T* packed) {
  using S = Simd<T>;
  using Source = Simd<From>;
  typename S::vec v[R];
  if (count == R && length == S::lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) v[i] = Source::load(x + i * row);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) v[i] = i < count ? Source::load(x + i * row, length) : S::zero();
  }
  simd::interleave_rows(v);
  // A vector holds one p, or has the layout of the pack already: no further moves.
  constexpr bool one_each = R == S::lanes && R <= width;
  if ((one_each || R == width) && length == S::lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) S::store(packed + i * (one_each ? width : S::lanes), v[i]);
    return;
  }
  T flat[R * S::lanes];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) S::store(flat + i * S::lanes, v[i]);
  constexpr index_t take = smaller(R, width);
  for (index_t p = 0; p < length; ++p) {
    for (index_t i = 0; i < take; ++i) packed[p * width + i] = flat[p * R + i];
  }
}

constexpr index_t pack_steps = 16;  // p per block: a run of memory is read before the next row

/// Prefetches `width` elements from x on; x may be any address.
template <index_t width, class T>
TESSERA_INLINE void fetch(const T* x) {
#pragma GCC unroll 4
  for (index_t j = 0; j < width; j += 64 / static_cast<index_t>(sizeof(T)))
    __builtin_prefetch(x + j);
}

/// Copies width elements, which are converted to T.
template <class T, index_t width, class From>
TESSERA_INLINE void copy_run(const From* from, T* to) {
  if constexpr (std::is_same_v<T, From>) {
    for (index_t j = 0; j < width; ++j) to[j] = from[j];
  } else {
    constexpr index_t lanes = Simd<T>::lanes, whole = width / lanes * lanes;
    for (index_t j = 0; j < whole; j += lanes) Simd<T>::store(to + j, Simd<From>::load(from + j));
    if constexpr (whole < width)
      Simd<T>::store(to + whole, Simd<From>::load(from + whole, width - whole), width - whole);
  }
}

/// Packs elements x(i, p), contiguous along i, into groups of width.
template <class T, index_t width, class From>
void pack_runs(Operand<From> x, index_t count, index_t k, T* packed) {
  for (index_t p0 = 0; p0 < k; p0 += pack_steps) {
    const index_t p1 = smaller(p0 + pack_steps, k);
    index_t i = 0;
    for (; i + width <= count; i += width) {
      for (index_t p = p0; p < p1; ++p) {
        const From* const from = x.data + i + p * x.step;
        fetch<width>(from + 4 * width);
        copy_run<T, width>(from, packed + i * k + p * width);
      }
    }
    for (index_t p = p0; i < count && p < p1; ++p) {
      for (index_t j = 0; j < width; ++j)
        packed[i * k + p * width + j] = i + j < count ? static_cast<T>(x(i + j, p)) : T{0};
    }
  }
}

/// Packs elements x(i, p), contiguous along p, into groups of width, R rows at a time.
template <class T, int R, index_t width, class From>
void pack_rows(Operand<From> x, index_t count, index_t k, T* packed) {
  constexpr index_t lanes = Simd<T>::lanes;
  for (index_t i = 0; i < count; i += width) {
    for (index_t g = 0; g < width; g += R) {
      const index_t here = count - i - g;
      const From* const rows = x.data + (here > 0 ? i + g : 0) * x.row;
      for (index_t p = 0; p < k; p += lanes) {
        pack_transposed<T, R, width>(rows + p, x.row, smaller(R, here), smaller(lanes, k - p),
                                     packed + i * k + p * width + g);
      }
    }
  }
}

template <class T, class From = T>
void pack_a(Operand<From> a, index_t rows, index_t k, T* packed) {
  if (a.row == 1) return pack_runs<T, Shape<T>::mr>(a, rows, k, packed);
  pack_rows<T, 8, Shape<T>::mr>(a, rows, k, packed);
}

template <class T, class From = T>
void pack_b(Operand<From> b, index_t k, index_t cols, T* packed) {
  constexpr index_t nr = Shape<T>::nr;
  const Operand<From> columns{b.data, b.step, b.row};
  if (columns.row == 1) return pack_runs<T, nr>(columns, cols, k, packed);
  pack_rows<T, static_cast<int>(Simd<T>::lanes), nr>(columns, cols, k, packed);
}

template <class T>
void add(const T* value, T* into, index_t n) {
  for (index_t i = 0; i < n; ++i) into[i] += value[i];
}

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
