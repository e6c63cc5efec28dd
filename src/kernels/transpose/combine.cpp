// Scaled updates of rows, in loops that the compiler vectorises.

#include "kernels/transpose/combine.hpp"

namespace tessera::inline v1::transpose::TESSERA_ISA {
namespace {

template <class T>
void combine(T alpha, const T* a, T beta, T* b, index_t n) {
  if (beta == T{0} && alpha == T{0}) {
    for (index_t i = 0; i < n; ++i) b[i] = T{0};
  } else if (beta == T{0}) {
    for (index_t i = 0; i < n; ++i) b[i] = alpha * a[i];
  } else if (alpha == T{0}) {
    for (index_t i = 0; i < n; ++i) b[i] = beta * b[i];
  } else {
    for (index_t i = 0; i < n; ++i) b[i] = alpha * a[i] + beta * b[i];
  }
}

}  // namespace

extern const CombineSet combine_set;
const CombineSet combine_set{combine<float>, combine<double>};

}  // namespace tessera::inline v1::transpose::TESSERA_ISA
