#pragma once
// A matrix copied so that its rows are contiguous: what the transposed variants pay for their short strides.

#include "kernels/matmul/operand.hpp"
#include "machine/buffer.hpp"

namespace tessera::matmul {

/// rows[i * length + p] = x(i, p) for i < count, p < length.
template <class T>
[[nodiscard]] machine::Buffer<T> contiguous_rows(Operand<T> x, index_t count, index_t length) {
  machine::Buffer<T> rows(checked_mul(count, length, "a transposed copy"));
  for (index_t i = 0; i < count; ++i) {
    for (index_t p = 0; p < length; ++p) rows[i * length + p] = x(i, p);
  }
  return rows;
}

/// The same rows without a copy where they are contiguous already.
template <class T>
class Rows {
 public:
  Rows(Operand<T> x, index_t count, index_t length)
      : copy_(x.step == 1 ? machine::Buffer<T>() : contiguous_rows(x, count, length)),
        data_(x.step == 1 ? x.data : copy_.data()),
        ld_(x.step == 1 ? x.row : length) {}

  [[nodiscard]] const T* operator[](index_t i) const { return data_ + i * ld_; }

 private:
  machine::Buffer<T> copy_;
  const T* data_;
  index_t ld_;
};

/// The columns of op(b) as rows: op(b) transposed.
template <class T>
[[nodiscard]] Operand<T> flipped(Operand<T> x) {
  return {x.data, x.step, x.row};
}

}  // namespace tessera::matmul
