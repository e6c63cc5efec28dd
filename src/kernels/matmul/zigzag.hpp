#pragma once
// Product by cells of C in column sweeps, every other row right to left (boustrophedon).

#include "kernels/matmul/column.hpp"

namespace tessera::inline v1::matmul {

template <class T>
void zigzag(const Gemm<T>& g, const Tuning& tuning) {
  product_by_cells<Walk::zigzag>(g, std::max<index_t>(1, tuning.column_width));
}

}  // namespace tessera::inline v1::matmul
