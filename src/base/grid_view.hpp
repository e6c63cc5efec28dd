#pragma once
// Non-owning views of fields in one to three dimensions: pointers with shapes, passed by value.

#include <type_traits>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// A point, an extent or an offset: (z, y, x), slowest first. The leading extents of a field of
/// fewer dimensions are 1.
struct Index3 {
  index_t at[3] = {0, 0, 0};
  TESSERA_HD constexpr index_t& operator[](int d) { return at[d]; }
  TESSERA_HD constexpr index_t operator[](int d) const { return at[d]; }
  TESSERA_HD constexpr bool operator==(const Index3& other) const {
    return at[0] == other.at[0] && at[1] == other.at[1] && at[2] == other.at[2];
  }
  [[nodiscard]] TESSERA_HD constexpr index_t volume() const { return at[0] * at[1] * at[2]; }
};

/// The points [low, high).
struct Box3 {
  Index3 low, high;
  [[nodiscard]] constexpr Index3 size() const {
    return {{high[0] - low[0], high[1] - low[1], high[2] - low[2]}};
  }
  [[nodiscard]] constexpr bool empty() const {
    return high[0] <= low[0] || high[1] <= low[1] || high[2] <= low[2];
  }
  [[nodiscard]] constexpr index_t volume() const { return empty() ? 0 : size().volume(); }
  constexpr bool operator==(const Box3&) const = default;
};

[[nodiscard]] constexpr Box3 intersect(const Box3& a, const Box3& b) {
  Box3 common;
  for (int d = 0; d < 3; ++d) {
    common.low[d] = a.low[d] > b.low[d] ? a.low[d] : b.low[d];
    common.high[d] = a.high[d] < b.high[d] ? a.high[d] : b.high[d];
  }
  return common;
}

/// A field of which (z, y, x) is data[z * stride[0] + y * stride[1] + x * stride[2]]. Indices below
/// 0 and from extent on address the ghost layers, if the memory has any.
template <class T>
struct GridView {
  T* data = nullptr;  ///< the point (0, 0, 0)
  Index3 extent{{1, 1, 1}};
  Index3 stride{{0, 0, 1}};
  int dims = 3;  ///< 1: x; 2: y, x; 3: z, y, x

  TESSERA_HD T& operator()(index_t z, index_t y, index_t x) const {
    return data[z * stride[0] + y * stride[1] + x * stride[2]];
  }
  TESSERA_HD T& operator()(index_t y, index_t x) const { return (*this)(0, y, x); }
  TESSERA_HD T& operator()(index_t x) const { return data[x * stride[2]]; }
  TESSERA_HD T& operator()(Index3 p) const { return (*this)(p[0], p[1], p[2]); }
  [[nodiscard]] TESSERA_HD T* row(index_t z, index_t y) const {
    return data + z * stride[0] + y * stride[1];
  }

  /// Returns the view of the box [from, from + size).
  TESSERA_HD GridView box(Index3 from, Index3 size) const {
    return {&(*this)(from), size, stride, dims};
  }
  [[nodiscard]] TESSERA_HD bool empty() const { return extent.volume() == 0; }

  TESSERA_HD operator GridView<const T>() const  // NOLINT: implicit on purpose, as MatrixView
      requires(!std::is_const_v<T>) {
    return {data, extent, stride, dims};
  }
};

/// Returns the view of the contiguous row-major field at data.
template <class T>
[[nodiscard]] TESSERA_HD GridView<T> grid_view(T* data, Index3 extent, int dims) {
  return {data, extent, {{extent[1] * extent[2], extent[2], 1}}, dims};
}

}  // namespace tessera::inline v1
