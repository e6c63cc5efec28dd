// Instantiations of the fast product, and its choice of threads.

#include "kernels/matmul/cache_oblivious.hpp"

#include <algorithm>

#include "kernels/matmul/products.hpp"

namespace tessera::inline v1::matmul {

template <class T>
int useful_threads(index_t m, index_t n, index_t k, int threads) {
  // 40 to 80 us of arithmetic on 512-bit vectors: waking a sleeping thread takes 5 to 50 us.
  constexpr double flops_per_thread = 8e6;
  constexpr double flops_each = is_complex<T> ? 8 : 2;
  const double flops =
      flops_each * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return static_cast<int>(
      std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(std::max(1, threads))));
}

#define TESSERA_INSTANTIATE_PRODUCT(T, S)                           \
  template void cache_oblivious(const Gemm<T, S>&);                 \
  template void subtree(const Gemm<T, S>&, const Leaves&, Subtree); \
  template void chain(const Gemm<T, S>&);                           \
  template index_t working_memory(const Gemm<T, S>&, index_t)
#define TESSERA_INSTANTIATE(T)                           \
  TESSERA_INSTANTIATE_PRODUCT(T, T);                     \
  template void add(MatrixView<const T>, MatrixView<T>); \
  template int useful_threads<T>(index_t, index_t, index_t, int)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
TESSERA_INSTANTIATE_PRODUCT(float, Half);
TESSERA_INSTANTIATE_PRODUCT(float, BFloat16);
template int useful_threads<Half>(index_t, index_t, index_t, int);
template int useful_threads<BFloat16>(index_t, index_t, index_t, int);

}  // namespace tessera::inline v1::matmul
