// Instantiations of the textbook variants for plain elements.

#include "kernels/matmul/textbook.hpp"

#include "kernels/matmul/column.hpp"
#include "kernels/matmul/naive.hpp"
#include "kernels/matmul/recursive.hpp"
#include "kernels/matmul/tiled.hpp"
#include "kernels/matmul/transposed.hpp"
#include "kernels/matmul/transposed_tiled.hpp"
#include "kernels/matmul/zigzag.hpp"

namespace tessera::inline v1::matmul {

#define TESSERA_INSTANTIATE(variant)                                 \
  template void variant(const Gemm<float>&, const Tuning&);          \
  template void variant(const Gemm<double>&, const Tuning&);         \
  template void variant(const Gemm<Complex<float>>&, const Tuning&); \
  template void variant(const Gemm<Complex<double>>&, const Tuning&)

TESSERA_INSTANTIATE(naive);
TESSERA_INSTANTIATE(transposed);
TESSERA_INSTANTIATE(tiled);
TESSERA_INSTANTIATE(transposed_tiled);
TESSERA_INSTANTIATE(column);
TESSERA_INSTANTIATE(zigzag);
TESSERA_INSTANTIATE(recursive);

}  // namespace tessera::inline v1::matmul
