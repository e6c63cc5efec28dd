#pragma once
// Row kernels of stars by radius. Only for row_kernels.cpp.

#include "kernels/stencil/chain_rows.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// Returns the bytes of a row per tile: most of the rows that a block of `jam` rows spans are then
/// still in L1 when the next block reads them again. From memory whole rows are best: the hardware
/// prefetches along them and restarts at every tile.
constexpr index_t tile_bytes(bool through) { return through ? index_t{1} << 40 : 4096; }

/// Prefetches a line of each of `rows` rows from p on; far: into the second level only.
template <int rows, class T>
[[gnu::always_inline]] inline void ask_for(const T* p, index_t stride, bool far) {
  for (int j = 0; j < rows; ++j) {
    if (far)
      __builtin_prefetch(p + j * stride, 0, 2);
    else
      __builtin_prefetch(p + j * stride);
  }
}

/// Prefetches, from memory, `rows` rows of the plane that no block has read yet, some distance
/// ahead of x; past their end, the rows that the next block reads first. Hardware prefetchers stop
/// at every page of every row. Measured on Zen 5, boxes of 3x3 f32, relative to a copy where memory
/// is fast: 0.79 without, 0.82 a whole row ahead, 0.91 to 0.97 at 1 and 2 KiB, 1.0 at 3. Far, into
/// the second level: Zen 4, boxes of 3x3 and 5x5 0.81, 0.78 -> 0.97, 0.93, at 1 KiB 0.85, 0.80; on
/// Emerald Rapids the levels are the same.
template <class T, int rows>
[[gnu::always_inline]] inline void ask_for_rows(const T* fresh, index_t stride, index_t x,
                                                index_t n, bool far) {
  constexpr index_t ahead = 3072 / static_cast<index_t>(sizeof(T));
  const T* const p = fresh + x + ahead + (x + ahead < n ? 0 : rows * stride - n);
  ask_for<rows>(p, stride, far);
}

/// Returns the vector k elements to the right of p (left for k < 0), from its neighbours' registers
/// or from memory.
template <class T, int k>
TESSERA_INLINE typename Simd<T>::vec shifted(const T* p, typename Simd<T>::vec before,
                                             typename Simd<T>::vec here,
                                             typename Simd<T>::vec after) {
  constexpr int lanes = static_cast<int>(Simd<T>::lanes);
  if constexpr (k == 0) {
    return here;
  } else if constexpr (!shifts_registers) {
    return Simd<T>::load(p + k);
  } else if constexpr (k < 0) {
    return simd::shift<lanes + k>(before, here);
  } else if constexpr (k == lanes) {
    return after;
  } else {
    return simd::shift<k>(here, after);
  }
}

/// A full star of radius r. Processes `rows` rows at once along the slowest dimension (register
/// blocking), so that a loaded vector serves the rows on both sides of it; neighbours along x come
/// from the adjacent vectors.
template <class T, int dims, int r, int rows, bool previous, bool through>
struct Star {
  using V = Simd<T>;
  using Type = typename V::vec;
  static constexpr int halo = dims >= 2 ? r : 0;  // rows on either side of the block
  static constexpr int middle =
      dims == 3 ? r : 0;  // rows on either side along y, in three dimensions
  static constexpr int first_x = halo + middle;
  static constexpr int count = 2 * (halo + middle + r) + 1;

  template <int k>
  [[gnu::always_inline]] static Type along_x(const Type* w, Type sum, const T* p, Type before,
                                             Type here, Type after) {
    if constexpr (k > r) {
      return sum;
    } else {
      const Type u = shifted<T, k>(p, before, here, after);
      sum = dims == 1 && k == -r ? w[0] * u : V::fma(w[first_x + r + k], u, sum);
      return along_x<k + 1>(w, sum, p, before, here, after);
    }
  }

  /// Distances of the rows that a block reads, in elements, computed once, so that the inner loop
  /// needs one moving pointer per row along y and fits the registers.
  struct Distances {
    index_t along[rows + 2 * halo];  ///< from the block's first row to row k - halo
    index_t across[2 * middle + 1];

    Distances(index_t stride, index_t stride_middle) {
      for (int k = 0; k < rows + 2 * halo; ++k) along[k] = (k - halo) * stride;
      for (int k = 0; k <= 2 * middle; ++k) across[k] = (k - middle) * stride_middle;
    }
  };

  /// Returns the sum for one row; column[k] is the vector k - halo rows away, p the address of the
  /// row's own.
  [[gnu::always_inline]] static Type sum(const Type* w, const Type* column, const T* p, index_t at,
                                         const Distances& away, Type before, Type after) {
    Type s{};
    for (int k = 0; k < halo; ++k) s = k == 0 ? w[0] * column[0] : V::fma(w[k], column[k], s);
    for (int k = 0; k < middle; ++k) s = V::fma(w[halo + k], V::load(p + away.across[k] + at), s);
    s = along_x<-r>(w, s, p + at, before, column[halo], after);
    constexpr int past_x = first_x + 2 * r;
    for (int k = 1; k <= middle; ++k)
      s = V::fma(w[past_x + k], V::load(p + away.across[middle + k] + at), s);
    for (int k = 1; k <= halo; ++k) s = V::fma(w[past_x + middle + k], column[halo + k], s);
    return s;
  }

  /// Prefetches, from memory, the planes' lines a row ahead.
  [[gnu::always_inline]] static void prefetch_ahead(const T* in, index_t stride,
                                                    index_t stride_middle, index_t x, index_t n,
                                                    bool far) {
    if constexpr (dims == 2) ask_for_rows<T, rows>(in + halo * stride, stride, x, n, far);
    if constexpr (dims == 3) {
      ask_for<rows + 2 * halo>(in + x + (middle + 1) * stride_middle - halo * stride, stride, far);
    }
  }

  struct Window {
    Type before[rows], here[rows];  ///< the vectors at and left of the current position, by row
  };

  /// Computes one vector of every row at p; if `ends`, stores only elements in [0, n), counted from
  /// x.
  template <bool ends>
  [[gnu::always_inline]] static void step(const Type* w, Type past, const T* p, T* out,
                                          const Distances& away, Window& u, index_t x, index_t n) {
    Type column[rows + 2 * halo];
    for (int j = 0; j < halo; ++j) {
      column[j] = V::load(p + away.along[j]);
      column[rows + halo + j] = V::load(p + away.along[rows + halo + j]);
    }
    for (int j = 0; j < rows; ++j) column[halo + j] = u.here[j];
    for (int j = 0; j < rows; ++j) {
      const index_t at = away.along[halo + j];
      const Type after = V::load(p + at + V::lanes);
      Type s = sum(w, column + j, p, at, away, u.before[j], after);
      if constexpr (previous) s = V::fma(past, V::load(out + at), s);
      if constexpr (ends) {
        put<T, through>(out + at - x, x, n, s);
      } else if constexpr (through) {
        V::stream(out + at, s);
      } else {
        V::store(out + at, s);
      }
      u.before[j] = u.here[j];
      u.here[j] = after;
    }
  }

  /// Computes x in [from, to), multiples of a vector from an aligned address; stores only [0, n).
  TESSERA_RACY_LANES static void run(const Taps<T>& taps, const T* in, T* out, index_t stride,
                                     index_t stride_middle, index_t from, index_t to, index_t n) {
    Type w[count];
    for (int k = 0; k < count; ++k) w[k] = V::broadcast(taps.weight[k]);
    const Type past = V::broadcast(taps.previous);
    const Distances away(stride, stride_middle);
    Window u;
    for (int j = 0; j < rows; ++j) {
      u.before[j] = V::load(in + j * stride + from - V::lanes);
      u.here[j] = V::load(in + j * stride + from);
    }
    const index_t whole = to < n ? to : n - V::lanes + 1;
    index_t x = from;
    while (true) {  // one call for both ends of the row: the code of a step is large
      if (x >= 0) {
        for (; x < whole; x += V::lanes) {
          if constexpr (through) prefetch_ahead(in, stride, stride_middle, x, n, taps.far);
          step<false>(w, past, in + x, out + x, away, u, x, n);
        }
      }
      if (x >= to) break;
      step<true>(w, past, in + x, out + x, away, u, x, n);
      x += V::lanes;
    }
  }
};

/// The traversal of a block by a kernel that takes `rows` rows at once: the dimension of those rows
/// and the other one.
struct Lead {
  index_t count, stride;
  index_t others, stride_other;
  index_t tile;  ///< points of x per tile
};

/// Rows of the other dimension per block of `jam` rows: the halo rows of a block are then still in
/// L2 when the next one reads them.
constexpr index_t others_at_once = 32;

/// Calls run<rows>(in, out, from, to) over blocks of `jam` rows and the remainder in blocks of two
/// and one; tiles of x are the outermost loop.
template <class T, class Run>
void by_blocks(const Rows<T>& a, const Lead& over, const Run& run) {
  const auto block = [&]<int rows>(index_t first, index_t other, index_t from, index_t to) {
    const index_t end = other + others_at_once < over.others ? other + others_at_once : over.others;
    for (index_t k = other; k < end; ++k) {
      const index_t at = first * over.stride + k * over.stride_other;
      run.template operator()<rows>(a.in + at, a.out + at, from, to);
    }
  };
  for (index_t from = -lead(a.out); from < a.n; from += over.tile) {
    const index_t to = from + over.tile < a.n ? from + over.tile : a.n;
    for (index_t other = 0; other < over.others; other += others_at_once) {
      index_t i = 0;
      for (; i + jam <= over.count; i += jam) block.template operator()<jam>(i, other, from, to);
      if (jam > 2 && i + 2 <= over.count) {
        block.template operator()<2>(i, other, from, to);
        i += 2;
      }
      if (i < over.count) block.template operator()<1>(i, other, from, to);
    }
  }
}

template <class T, int dims, int r, bool previous, bool through>
void star(const Taps<T>& taps, const Rows<T>& a) {
  constexpr index_t tile = tile_bytes(through) / static_cast<index_t>(sizeof(T));
  if constexpr (dims == 1) {
    if (a.n > 0)
      Star<T, 1, r, 1, previous, through>::run(taps, a.in, a.out, 0, 0, -lead(a.out), a.n, a.n);
  } else {
    const Lead over = dims == 3 ? Lead{a.planes, a.stride_z, a.rows, a.stride_y, tile}
                                : Lead{a.rows, a.stride_y, 1, 0, tile};
    by_blocks(a, over, [&]<int rows>(const T* in, T* out, index_t from, index_t to) {
      Star<T, dims, r, rows, previous, through>::run(taps, in, out, over.stride, over.stride_other,
                                                     from, to, a.n);
    });
  }
  if constexpr (through) simd::fence_streams();
}

template <class T, int dims, int r>
RowKernel<T> star_kernel(const KernelKey& key) {
  if (key.previous) return star<T, dims, r, true, false>;
  return key.stores == Stores::through ? star<T, dims, r, false, true>
                                       : star<T, dims, r, false, false>;
}

template <class T, int r>
RowKernel<T> star_kernel(const KernelKey& key) {
  if (key.dims == 1) return star_kernel<T, 1, r>(key);
  return key.dims == 2 ? star_kernel<T, 2, r>(key) : star_kernel<T, 3, r>(key);
}

}  // namespace
}  // namespace tessera::inline v1::stencil
