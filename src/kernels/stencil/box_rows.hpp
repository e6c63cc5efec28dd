#pragma once
// Row kernels of box filters: means over squares. Only for row_kernels.cpp.

#include "kernels/stencil/star_rows.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// Returns the sum of the 2r + 1 values u[0], u[step], ... by doubling (Form::box).
template <int r, class T>
Arithmetic<T> doubled_sum(const T* u, index_t step) {
  const auto at = [&](index_t i) -> decltype(auto) { return simd::widen(u[i * step]); };
  if constexpr (r == 1) return (at(0) + at(1)) + at(2);
  const Arithmetic<T> p4 = (at(0) + at(1)) + (at(2) + at(3));
  if constexpr (r == 2) return p4 + at(4);
  if constexpr (r == 3) return (p4 + (at(4) + at(5))) + at(6);
  return (p4 + ((at(4) + at(5)) + (at(6) + at(7)))) + at(8);
}

/// Computes the box by scalar loops: column sums of a piece of the row, then sums of those.
template <class T, int r>
TESSERA_RACY_LANES void reference_box(const Taps<T>& taps, const Rows<T>& a) {
  constexpr index_t piece = 64;  // elements: the column sums stay in L1
  for (index_t y = 0; y < a.rows; ++y) {
    for (index_t x0 = 0; x0 < a.n; x0 += piece) {
      const index_t n = a.n - x0 < piece ? a.n - x0 : piece;
      const T* in = a.in + (y - r) * a.stride_y + x0 - r;
      Arithmetic<T> columns[piece + 2 * r];
      for (index_t x = 0; x < n + 2 * r; ++x) columns[x] = doubled_sum<r>(in + x, a.stride_y);
      T* out = a.out + y * a.stride_y + x0;
      for (index_t x = 0; x < n; ++x)
        simd::narrow_to(out[x], doubled_sum<r>(columns + x, 1) * taps.weight[0]);
    }
  }
}

/// The mean of a square of radius r: column sums shared by `rows` rows, then sums along x between
/// registers.
template <class T, int r, int rows, bool through>
struct Box {
  using V = Simd<T>;
  using Type = typename V::vec;

  /// Sets sums[j] to the sum of the 2r + 1 vectors from row j - r down, at p.
  [[gnu::always_inline]] static void columns(const T* p, index_t stride, Type* sums) {
    constexpr int all = rows + 2 * r;
    Type u[all], p2[all], p4[all];
    for (int j = 0; j < all; ++j) u[j] = V::load(p + (j - r) * stride);
    for (int j = 0; j + 1 < all; ++j) p2[j] = u[j] + u[j + 1];
    if constexpr (r >= 2) {
      for (int j = 0; j + 3 < all; ++j) p4[j] = p2[j] + p2[j + 2];
    }
    for (int j = 0; j < rows; ++j) {
      if constexpr (r == 1) sums[j] = p2[j] + u[j + 2];
      if constexpr (r == 2) sums[j] = p4[j] + u[j + 4];
      if constexpr (r == 3) sums[j] = (p4[j] + p2[j + 4]) + u[j + 6];
      if constexpr (r == 4) sums[j] = (p4[j] + p4[j + 4]) + u[j + 8];
    }
  }

  /// Vectors of sums that end at their own positions along x: of 1, 2, 4, 8 and all 2r + 1 column
  /// sums.
  struct Ending {
    Type one, two, four, eight, all;
  };
  /// Returns the vector k elements to the left of `here`.
  template <int k>
  [[gnu::always_inline]] static Type left(Type before, Type here) {
    return simd::shift<V::lanes - k>(before, here);
  }
  /// Returns the sums one vector further, where the column sums are `one`.
  [[gnu::always_inline]] static Ending next(const Ending& u, Type one) {
    Ending v = u;
    v.one = one;
    v.two = left<1>(u.one, one) + one;
    if constexpr (r >= 2) v.four = left<2>(u.two, v.two) + v.two;
    if constexpr (r == 4) v.eight = left<4>(u.four, v.four) + v.four;
    if constexpr (r == 1) v.all = left<1>(u.two, v.two) + one;
    if constexpr (r == 2) v.all = left<1>(u.four, v.four) + one;
    if constexpr (r == 3) v.all = (left<3>(u.four, v.four) + left<1>(u.two, v.two)) + one;
    if constexpr (r == 4) v.all = left<1>(u.eight, v.eight) + one;
    return v;
  }

  TESSERA_RACY_LANES static void run(const Taps<T>& taps, const T* in, T* out, index_t stride,
                                     index_t from, index_t to, index_t n) {
    const Type w = V::broadcast(taps.weight[0]);
    Ending here[rows]{};
    Type sums[rows];
    // Of the sums before `from` only the last ones are correct; the following sums use no others.
    for (index_t x = from - V::lanes; x <= from; x += V::lanes) {
      columns(in + x, stride, sums);
      for (int j = 0; j < rows; ++j) here[j] = next(here[j], sums[j]);
    }
    for (index_t x = from; x < to; x += V::lanes) {
      columns(in + x + V::lanes, stride, sums);
      if constexpr (through) ask_for_rows<T, rows>(in + r * stride, stride, x, n, taps.far);
      for (int j = 0; j < rows; ++j) {
        const Ending after = next(here[j], sums[j]);
        put<T, through>(out + j * stride, x, n, simd::shift<r>(here[j].all, after.all) * w);
        here[j] = after;
      }
    }
  }
};

template <class T, int r, bool through>
void box(const Taps<T>& taps, const Rows<T>& a) {
  constexpr index_t tile = tile_bytes(through) / static_cast<index_t>(sizeof(T));
  by_blocks(a, {a.rows, a.stride_y, 1, 0, tile},
            [&]<int rows>(const T* in, T* out, index_t from, index_t to) {
              Box<T, r, rows, through>::run(taps, in, out, a.stride_y, from, to, a.n);
            });
  if constexpr (through) simd::fence_streams();
}

template <class T, int r>
RowKernel<T> box_kernel(const KernelKey& key) {
  if constexpr (shifts_registers) {
    if (key.loops == Loops::vector)
      return key.stores == Stores::through ? box<T, r, true> : box<T, r, false>;
  }
  return reference_box<T, r>;
}

}  // namespace
}  // namespace tessera::inline v1::stencil
