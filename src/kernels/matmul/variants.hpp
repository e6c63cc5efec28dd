#pragma once
// The table of single-rank matrix multiplication variants.

#include <cmath>
#include <span>
#include <type_traits>

#include "kernels/matmul/gemm.hpp"
#include "kernels/variant.hpp"

struct CUstream_st;

namespace tessera::inline v1::matmul {

using DeviceStream = CUstream_st*;  // cudaStream_t, for files without CUDA headers

/// The precision to which f32 operands are rounded before multiplication. Sums are in f32, those of
/// int8 in integers; rows of op(a) and columns of op(b) of fp8 and int8 have a unit each.
enum class Precision { full, tf32, bf16, f16, fp8, int8 };
/// Returns the precision of that name, as --precision takes it; full for an unknown one.
[[nodiscard]] Precision precision_named(std::string_view name);

/// The error of operands so rounded, and of their sums. An element x of a row (of op(a), or a
/// column of op(b)) whose largest magnitude is `largest` becomes x rounded to `bits` significant
/// bits (0: x itself), off by at most of_largest largest + absolute. Sums of k products are off by
/// at most of_sums + k of_each, plus the error of sums in f32, in relation to the sum of their
/// magnitudes.
struct RoundingError {
  int bits = 0;
  enum class Ties { to_even, away } ties = Ties::to_even;
  double of_largest = 0, absolute = 0, of_sums = 0, of_each = 0;

  /// Returns the largest relative error of rounding to `bits`.
  [[nodiscard]] double relative() const { return bits == 0 ? 0 : std::ldexp(1.0, -bits); }
};
[[nodiscard]] RoundingError rounding_error(Precision precision);

/// Options of the textbook variants and the tensor cores; the other variants need none.
struct Tuning {
  index_t tile =
      64;  ///< edge of the tiles of tiled and transposed_tiled, and of the leaves of recursive
  index_t block = 256;        ///< threads a block of cuda_naive, cuda_column and cuda_zigzag
  index_t column_width = 32;  ///< width of the columns that column and zigzag sweep
  Precision precision = Precision::full;  ///< cuda_tensor in f32
  index_t device_memory = 0;  ///< device memory to use, in bytes, through which larger problems run
                              ///< out of core; 0: what is free
};

/// A product in memory of the current device, on a stream.
template <class T>
using DeviceKernel = void (*)(const Gemm<T>&, const Tuning&, DeviceStream);
struct DeviceKernels {
  DeviceKernel<float> f32 = nullptr;
  DeviceKernel<double> f64 = nullptr;
  DeviceKernel<Complex<float>> c64 = nullptr;  ///< nullptr: no complex elements
  DeviceKernel<Complex<double>> c128 = nullptr;

  template <class T>
  [[nodiscard]] DeviceKernel<T> of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
    if constexpr (std::is_same_v<T, Complex<float>>) return c64;
    if constexpr (std::is_same_v<T, Complex<double>>) return c128;
  }
};

/// Products of halves, with c in halves or in float. nullptr: the variant has none.
struct HalfProducts {
  void (*f16)(const Gemm<Half>&) = nullptr;
  void (*bf16)(const Gemm<BFloat16>&) = nullptr;
  void (*f16_in_f32)(const Gemm<float, Half>&) = nullptr;
  void (*bf16_in_f32)(const Gemm<float, BFloat16>&) = nullptr;

  template <class T, class S>
  [[nodiscard]] auto of() const {
    constexpr bool is_f16 = std::is_same_v<S, Half>;
    if constexpr (std::is_same_v<T, float>) {
      if constexpr (is_f16) return f16_in_f32;
      if constexpr (!is_f16) return bf16_in_f32;
    } else {
      if constexpr (is_f16) return f16;
      if constexpr (!is_f16) return bf16;
    }
  }
};

/// A row of the table. Call it inside machine::parallel(threads, ...): variants that fork use the
/// team. on_device: the kernels that a device row runs on data in device memory.
struct Variant : VariantInfo {
  void (*f32)(const Gemm<float>&, const Tuning&);
  void (*f64)(const Gemm<double>&, const Tuning&);
  DeviceKernels on_device = {};
  void (*c64)(const Gemm<Complex<float>>&,
              const Tuning&) = nullptr;  ///< nullptr: no complex elements
  void (*c128)(const Gemm<Complex<double>>&, const Tuning&) = nullptr;
  HalfProducts halves = {};

  /// Returns whether the variant multiplies operands of S to a result of T.
  template <class T, class S = T>
  [[nodiscard]] bool multiplies() const {
    if constexpr (is_stored_half<S>) return halves.of<T, S>() != nullptr;
    if constexpr (std::is_same_v<T, Complex<float>>) return c64 != nullptr;
    if constexpr (std::is_same_v<T, Complex<double>>) return c128 != nullptr;
    return true;
  }

  void operator()(const Gemm<float>& g, const Tuning& tuning = {}) const { f32(g, tuning); }
  void operator()(const Gemm<double>& g, const Tuning& tuning = {}) const { f64(g, tuning); }
  void operator()(const Gemm<Complex<float>>& g, const Tuning& tuning = {}) const {
    c64(g, tuning);
  }
  void operator()(const Gemm<Complex<double>>& g, const Tuning& tuning = {}) const {
    c128(g, tuning);
  }
  /// Multiplies halves. Throws Error(usage) if the variant has no kernel for them.
  template <class T, class S>
  requires is_stored_half<S>
  void operator()(const Gemm<T, S>& g, const Tuning& = {}) const {
    require_halves(multiplies<T, S>(), name_of_half<S>);
    halves.of<T, S>()(g);
  }
  /// Multiplies numbers under others' names: std::complex, _Float16, __half, __nv_bfloat16, ...
  template <class T, class S>
  requires is_foreign<S>
  void operator()(const Gemm<T, S>& g, const Tuning& tuning = {}) const {
    (*this)(Gemm<Own<T>, Own<S>>{.alpha = own(g.alpha),
                                 .a = own(g.a),
                                 .op_a = g.op_a,
                                 .b = own(g.b),
                                 .op_b = g.op_b,
                                 .beta = own(g.beta),
                                 .c = own(g.c)},
            tuning);
  }

 private:
  void require_halves(bool multiplies, std::string_view element) const;
};

[[nodiscard]] std::span<const Variant> variants();

/// Returns the variant that `auto` selects on the host.
[[nodiscard]] const Variant& best();
/// Returns the variant that `auto` selects on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

}  // namespace tessera::inline v1::matmul
