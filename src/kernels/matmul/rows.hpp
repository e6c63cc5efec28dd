#pragma once
// A copy of a matrix with contiguous rows: the price of the unit strides of the transposed
// variants.

#include "kernels/matmul/operand.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::matmul {

/// Returns a copy with rows[i * length + p] = x(i, p) for i < count, p < length.
template <class T>
[[nodiscard]] machine::Buffer<T> contiguous_rows(Operand<T> x, index_t count, index_t length) {
  machine::Buffer<T> rows(checked_mul(count, length, "a transposed copy"));
  for (index_t i = 0; i < count; ++i) {
    for (index_t p = 0; p < length; ++p) rows[i * length + p] = x(i, p);
  }
  return rows;
}

/// Contiguous rows of an operand, without a copy if they are contiguous already.
template <class T>
class Rows {
 public:
  Rows(Operand<T> x, index_t count, index_t length)
      : copy_(has_plain_rows(x) ? machine::Buffer<T>() : contiguous_rows(x, count, length)),
        data_(has_plain_rows(x) ? x.data : copy_.data()),
        ld_(has_plain_rows(x) ? x.row : length) {}

  [[nodiscard]] const T* operator[](index_t i) const { return data_ + i * ld_; }

 private:
  machine::Buffer<T> copy_;
  const T* data_;
  index_t ld_;
};

}  // namespace tessera::inline v1::matmul
