#pragma once
// The textbook variants, each a template in the file of its name. All except recursive run on the
// calling thread.

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/variants.hpp"

namespace tessera::inline v1::matmul {

template <class T>
void naive(const Gemm<T>& g, const Tuning& tuning);
template <class T>
void transposed(const Gemm<T>& g, const Tuning& tuning);
template <class T>
void tiled(const Gemm<T>& g, const Tuning& tuning);
template <class T>
void transposed_tiled(const Gemm<T>& g, const Tuning& tuning);
template <class T>
void column(const Gemm<T>& g, const Tuning& tuning);
template <class T>
void zigzag(const Gemm<T>& g, const Tuning& tuning);

template <class T>
void recursive(const Gemm<T>& g, const Tuning& tuning);

}  // namespace tessera::inline v1::matmul
