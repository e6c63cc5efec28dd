#pragma once
// Conversions of halves to the operands of float leaves and back. Only for leaf_isa.cpp.

#include "kernels/matmul/leaf_pack.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using matmul::HalfKernels;

template <class S>
void widen_row(const S* from, float* to, index_t n) {
  constexpr index_t lanes = Simd<float>::lanes;
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) Simd<float>::store(to + i, Simd<S>::load(from + i));
  if (i < n) Simd<float>::store(to + i, Simd<S>::load(from + i, n - i), n - i);
}

template <class S>
void narrow_row(const float* from, S* to, index_t n) {
  constexpr index_t lanes = Simd<float>::lanes;
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) Simd<S>::store(to + i, Simd<float>::load(from + i));
  if (i < n) Simd<S>::store(to + i, Simd<float>::load(from + i, n - i), 0, n - i);
}

template <class S>
constexpr HalfKernels<S> half_kernels{pack_a<float, S>, pack_b<float, S>, widen_row<S>,
                                      narrow_row<S>};

}  // namespace
}  // namespace tessera::inline v1::TESSERA_ISA
