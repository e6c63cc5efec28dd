#pragma once
// Sorting networks in AVX-512 registers. Only for leaf_avx512.cpp; everything here has internal
// linkage.
//
// Rows are registers, columns are lanes. Columns are sorted by comparing rows; then adjacent
// columns are merged by bitonic steps (Batcher 1968), lanes first, then rows again, until one
// sequence runs down the columns; its transpose is stored.

#include <utility>

#include "base/simd/transpose.hpp"
#include "kernels/sort/leaf_lanes_avx512.hpp"

namespace tessera::inline v1::sort::avx512 {
namespace {

/// The largest part that fits sixteen registers.
template <class B>
constexpr index_t network_keys = 16 * lanes<B>;

/// Returns the mask of lanes whose number has the bit.
template <class V>
constexpr auto lanes_with(int bit) {
  unsigned mask = 0;
  for (int lane = 0; lane < simd::lanes_of<V>; ++lane) mask |= (lane & bit) != 0 ? 1u << lane : 0u;
  return static_cast<simd::Mask<V>>(mask);
}

template <class V>
TESSERA_INLINE void compare_rows(V& a, V& b) {
  const V low = simd::min(a, b);
  b = simd::max(a, b);
  a = low;
}

/// Comparators (a[i], b[i]) of rows.
struct Network {
  int size = 0;
  int a[64] = {}, b[64] = {};
  constexpr void add(int low, int high) {
    a[size] = low;
    b[size++] = high;
  }
};

/// Returns odd-even merge sort (Batcher 1968): 63 comparators for 16 rows, 19 for 8.
template <int rows>
constexpr Network sorting_network() {
  Network network;
  for (int p = 1; p < rows; p *= 2) {
    for (int k = p; k >= 1; k /= 2) {
      for (int j = k % p; j + k < rows; j += 2 * k) {
        for (int i = j; i < j + k && i + k < rows; ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) network.add(i, i + k);
        }
      }
    }
  }
  return network;
}

/// Returns the network that sorts rows of a bitonic sequence.
template <int rows>
constexpr Network bitonic_network() {
  Network network;
  for (int k = rows / 2; k >= 1; k /= 2) {
    for (int i = 0; i < rows; ++i) {
      if ((i & k) == 0) network.add(i, i + k);
    }
  }
  return network;
}

// Comparators are unrolled by the type system: only then do all rows stay in registers. The network
// is a constant: clang would construct it for each comparator at run time.
template <class N, class V, std::size_t... i>
TESSERA_INLINE void apply(V* v, std::index_sequence<i...>) {
  constexpr Network network = N{}();
  (compare_rows(v[network.a[i]], v[network.b[i]]), ...);
}
template <class V, class N>
TESSERA_INLINE void apply(V* v, N) {
  apply<N>(v, std::make_index_sequence<static_cast<std::size_t>(N{}().size)>{});
}

/// Applies the lane steps of a bitonic merge: distance, distance / 2, ..., 1.
template <int distance, class V, std::size_t... r>
TESSERA_INLINE void merge_lanes(V* v, std::index_sequence<r...> rows) {
  if constexpr (distance > 0) {
    const auto step = [](V a) __attribute__((always_inline)) {
      const V b = simd::exchange<distance>(a);
      return simd::blend(lanes_with<V>(distance), simd::min(a, b), simd::max(a, b));
    };
    ((v[r] = step(v[r])), ...);
    merge_lanes<distance / 2>(v, rows);
  }
}

/// Compares each key of the lower group of columns with its mirror image in the upper one.
template <int group, class V>
TESSERA_INLINE void mirror_rows(V& a, V& b) {
  constexpr auto upper = lanes_with<V>(group);
  const V image = simd::exchange<2 * group - 1>(b);
  const V low = simd::min(a, image), high = simd::max(a, image);
  a = simd::blend(upper, low, high);
  b = simd::exchange<2 * group - 1>(simd::blend(upper, high, low));
}

/// Merges groups of `group` columns into groups of twice as many, until one remains.
template <int rows, int group, class V, std::size_t... r>
TESSERA_INLINE void merge_columns(V* v, std::index_sequence<r...> half) {
  if constexpr (group < simd::lanes_of<V>) {
    (mirror_rows<group>(v[r], v[rows - 1 - r]), ...);
    merge_lanes<group / 2>(v, std::make_index_sequence<rows>{});
    apply(v, [] { return bitonic_network<rows>(); });
    merge_columns<rows, 2 * group>(v, half);
  }
}

/// Sorts to[0:n] = from[0:n], as raw keys; n <= rows * lanes. Both may be the same memory.
template <int rows, class B, class Mapping>
void sort_registers(const B* from, B* to, index_t n, const Mapping& mapping) {
  using V = typename Mapping::V;
  V v[rows];
  for (int r = 0; r < rows; ++r)
    v[r] = mapping.load(from + r * lanes<B>, simd::first_lanes<V>(n - r * lanes<B>));
  apply(v, [] { return sorting_network<rows>(); });
  merge_columns<rows, 1>(v, std::make_index_sequence<rows / 2>{});
  for (int square = 0; square < rows; square += lanes<B>) simd::transpose_square<B>(v + square);
  for (int column = 0; column < lanes<B>; ++column) {
    for (int part = 0; part < rows; part += lanes<B>) {
      const index_t at = column * rows + part;
      simd::store_lanes(to + at, simd::first_lanes<V>(n - at), mapping.to_raw(v[part + column]));
    }
  }
}

template <class B, class Mapping>
void sort_rows(const B* from, B* to, index_t n, const Mapping& mapping) {
  if constexpr (lanes<B> == 8) {
    if (n <= 8 * lanes<B>) return sort_registers<8>(from, to, n, mapping);
  }
  sort_registers<16>(from, to, n, mapping);
}

/// Sorts likewise any n <= network_keys, all of whose bits are within bounds.
template <class B>
void sort_network(const B* from, B* to, index_t n, Bounds<B> bounds, const KeyMap<B>& key_map,
                  const Map<B>& map) {
  const Line<B> mapping = line(key_map, bounds);
  if (mapping.exists)
    sort_rows(from, to, n, ByLine<B>(mapping));
  else
    sort_rows(from, to, n, ByMap<B>(map));
}

}  // namespace
}  // namespace tessera::inline v1::sort::avx512
