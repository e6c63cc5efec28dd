#pragma once
// Non-owning views: pointers with shapes, passed by value.

#include <cstddef>
#include <type_traits>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// A row-major matrix or a block of one: data[i * ld + j], 0 <= i < rows, 0 <= j < cols, ld >= cols
/// (elements).
template <class T>
struct MatrixView {
  T* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  index_t ld = 0;

  TESSERA_HD T& operator()(index_t i, index_t j) const { return data[i * ld + j]; }

  /// Returns the view of the block [i, i+m) x [j, j+n).
  TESSERA_HD MatrixView block(index_t i, index_t j, index_t m, index_t n) const {
    return {data + i * ld + j, m, n, ld};
  }
  TESSERA_HD MatrixView rows_range(index_t i, index_t m) const { return block(i, 0, m, cols); }
  TESSERA_HD MatrixView cols_range(index_t j, index_t n) const { return block(0, j, rows, n); }

  [[nodiscard]] TESSERA_HD bool empty() const { return rows == 0 || cols == 0; }

  // Converts a view of mutable elements to one of constant elements.
  TESSERA_HD operator MatrixView<const T>() const  // NOLINT: implicit on purpose
      requires(!std::is_const_v<T>) {
    return {data, rows, cols, ld};
  }
};

/// Returns the view of the contiguous row-major matrix at data: ld = cols.
template <class T>
[[nodiscard]] TESSERA_HD MatrixView<T> matrix_view(T* data, index_t rows, index_t cols) {
  return {data, rows, cols, cols};
}

/// Returns the view of the same matrix as bytes.
template <class T, class Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>>
[[nodiscard]] MatrixView<Byte> in_bytes(const MatrixView<T>& x) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  return {reinterpret_cast<Byte*>(x.data), x.rows, x.cols * size, x.ld * size};
}

}  // namespace tessera::inline v1
