#pragma once
// Packing of complex operands for the leaf, with real and imaginary parts separate. Only for
// leaf_complex.hpp.

#include "kernels/matmul/leaf_pack.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

constexpr index_t larger(index_t x, index_t y) { return x < y ? y : x; }

/// The micro-tile: registers hold mr x vectors accumulators of each part, both parts of a row of B,
/// and parts of A.
template <class T>
struct ComplexShape {
  using S = Simd<T>;
  static constexpr int mr = S::registers == 32 ? 4 : 6;
  static constexpr int vectors = S::registers == 32 ? 3 : 1;
  static constexpr index_t nr = vectors * S::lanes;
};

/// Returns the complex numbers at x as an array of parts, two per number.
template <class T>
const T* parts_of(const Complex<T>* x) {
  return reinterpret_cast<const T*>(x);
}
template <class T>
T* parts_of(Complex<T>* x) {
  return reinterpret_cast<T*>(x);
}

/// Packs the parts of `width` numbers, or of the first n and zeros; multiplies imaginary parts by
/// sign.
template <class T, index_t width>
TESSERA_INLINE void pack_complex_run(const T* from, index_t n, T sign, T* to) {
  using S = Simd<T>;
  if constexpr (width % S::lanes == 0) {
    const auto put = [&](index_t j, typename S::vec low, typename S::vec high)
        __attribute__((always_inline)) {
      S::store(to + j, simd::evens(low, high));
      S::store(to + width + j, S::broadcast(sign) * simd::odds(low, high));
    };
    if (n >= width) {
#pragma GCC unroll 4
      for (index_t j = 0; j < width; j += S::lanes)
        put(j, S::load(from + 2 * j), S::load(from + 2 * j + S::lanes));
      return;
    }
    for (index_t j = 0; j < width; j += S::lanes) {
      const index_t parts = larger(smaller(2 * (n - j), 2 * S::lanes), 0);
      put(j, S::load(from + 2 * j, smaller(parts, S::lanes)),
          S::load(from + 2 * j + S::lanes, larger(parts - S::lanes, 0)));
    }
  } else {
    for (index_t j = 0; j < width; ++j) {
      const bool there = j < n;
      to[j] = there ? from[2 * j] : T{0};
      to[width + j] = there ? sign * from[2 * j + 1] : T{0};
    }
  }
}

/// Packs numbers x(i, p), contiguous along i, into groups of width.
template <class T, index_t width>
void pack_complex_runs(const Operand<Complex<T>>& x, index_t count, index_t k, T* packed) {
  const T sign = x.conjugated ? T{-1} : T{1};
  for (index_t p0 = 0; p0 < k; p0 += pack_steps) {
    const index_t p1 = smaller(p0 + pack_steps, k);
    for (index_t i = 0; i < count; i += width) {
      for (index_t p = p0; p < p1; ++p) {
        const T* const from = parts_of(x.data) + 2 * (i + p * x.step);
        fetch<2 * width>(from + 8 * width);
        pack_complex_run<T, width>(from, count - i, sign, packed + 2 * (i * k + p * width));
      }
    }
  }
}

/// Packs numbers x(i, p), contiguous along p, into groups of width: as a real matrix whose columns
/// alternate between real and imaginary parts.
template <class T, int R, index_t width>
void pack_complex_rows(const Operand<Complex<T>>& x, index_t count, index_t k, T* packed) {
  pack_rows<T, R, width>(Operand<T>{parts_of(x.data), 2 * x.row, 1}, count, 2 * k, packed);
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

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
