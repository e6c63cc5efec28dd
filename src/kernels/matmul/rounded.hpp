#pragma once
// Conversions of matrices of halves to float and back. The team shares the rows.

#include "base/bfloat16.hpp"
#include "base/view.hpp"

namespace tessera::inline v1::matmul {

/// Computes to = from, exactly. S is Half or BFloat16.
template <class S>
void widen(MatrixView<const S> from, MatrixView<float> to);
/// Computes to = from, each element rounded to the nearest, ties to even.
template <class S>
void narrow(MatrixView<const float> from, MatrixView<S> to);

}  // namespace tessera::inline v1::matmul
