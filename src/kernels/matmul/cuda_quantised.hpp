#pragma once
// Products of operands of 8 bits: every row of op(a) and every column of op(b) in its unit.

#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/matmul/cuda.hpp"

namespace tessera::inline v1::matmul {

/// c = alpha * diag(units of a) a b^T diag(units of b) + beta * c, with a (m, k), b (n, k), rows
/// aligned to 16 bytes and c[0:m, 0:n]. T is std::int8_t, with sums in 32-bit integers, or
/// __nv_fp8_e4m3 (4 significant bits, up to 448), with sums in f32. Units are NaN for what is not
/// finite. beta == 0 never reads c.
template <class T>
struct QuantisedGemm {
  float alpha = 1;
  MatrixView<const T> a, b;
  const float *a_units = nullptr, *b_units = nullptr;  ///< (m), (n)
  float beta = 0;
  MatrixView<float> c;

  [[nodiscard]] TESSERA_HD index_t k() const { return a.cols; }
};

/// The longest sum of products of bytes in 32 bits, as a multiple of 128: 131,072 * 127^2 < 2^31.
inline constexpr index_t longest_byte_sum = index_t{1} << 17;

/// Launches the product by wgmma and returns true; returns false without any effect if the device
/// does not run code for 9.0a (cuda_code.hpp) or an operand is empty. Precondition: k is at most
/// longest_byte_sum (int8_t), 2^30.
template <class T>
[[nodiscard]] bool cuda_quantised_wgmma(const QuantisedGemm<T>& g, DeviceStream stream);

/// Launches the product by mma.sync, on devices whose code is of 8.0 (int8_t) or 8.9
/// (__nv_fp8_e4m3) or later. Precondition as above.
template <class T>
void cuda_quantised_mma(const QuantisedGemm<T>& g, DeviceStream stream);

/// Launches the product by the fastest of these, of any k: longer sums are cut.
template <class T>
void cuda_quantised_product(QuantisedGemm<T> g, DeviceStream stream);

/// Multiplies operands quantised to 8 bits: the whole of --precision int8 and fp8. Throws
/// Error(usage) if the code of the device cannot.
template <class T>
void cuda_quantised(const Gemm<float>& g, const Tuning& tuning, DeviceStream stream);

void add_quantised_functions(std::vector<machine::DeviceFunction>& to);
void add_quantised_wgmma_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::matmul
