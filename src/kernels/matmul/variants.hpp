#pragma once
// The table of the ways to multiply matrices on one rank.

#include <span>

#include "kernels/matmul/gemm.hpp"
#include "kernels/variant.hpp"

struct CUstream_st;

namespace tessera::matmul {

using DeviceStream = CUstream_st*;  // cudaStream_t, for those that do not know CUDA

/// What f32 operands are rounded to before they are multiplied, with sums in f32.
enum class Precision { full, tf32, bf16, f16 };
/// Significant bits, the leading one too, of f32 operands so rounded.
[[nodiscard]] int significant_bits(Precision precision);

/// Options of the textbook variants, and of the tensor units; the others need none.
struct Tuning {
  index_t tile =
      64;  ///< edge of the tiles of tiled and transposed_tiled, and of the leaves of recursive
  index_t block = 256;        ///< threads a block of cuda_naive, cuda_column and cuda_zigzag
  index_t column_width = 32;  ///< width of the columns that column and zigzag sweep
  Precision precision = Precision::full;  ///< cuda_tensor in f32
  index_t device_memory = 0;  ///< device: bytes that it may take there, through which larger ones
                              ///< go in pieces; 0: what is free
};

/// A product of memory of the current device, on a stream.
template <class T>
using DeviceKernel = void (*)(const Gemm<T>&, const Tuning&, DeviceStream);
struct DeviceKernels {
  DeviceKernel<float> f32 = nullptr;
  DeviceKernel<double> f64 = nullptr;
};

/// Run inside machine::parallel(threads, ...): those that fork then use the team. on_device: what a
/// device's row runs on memory that is there already.
struct Variant : VariantInfo {
  void (*f32)(const Gemm<float>&, const Tuning&);
  void (*f64)(const Gemm<double>&, const Tuning&);
  DeviceKernels on_device = {};
  void (*c64)(const Gemm<Complex<float>>&,
              const Tuning&) = nullptr;  ///< nullptr: not in complex elements
  void (*c128)(const Gemm<Complex<double>>&, const Tuning&) = nullptr;

  void operator()(const Gemm<float>& g, const Tuning& tuning = {}) const { f32(g, tuning); }
  void operator()(const Gemm<double>& g, const Tuning& tuning = {}) const { f64(g, tuning); }
  void operator()(const Gemm<Complex<float>>& g, const Tuning& tuning = {}) const {
    c64(g, tuning);
  }
  void operator()(const Gemm<Complex<double>>& g, const Tuning& tuning = {}) const {
    c128(g, tuning);
  }
};

[[nodiscard]] std::span<const Variant> variants();

/// What `auto` means on the host.
[[nodiscard]] const Variant& best();
/// What it means on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

}  // namespace tessera::matmul
