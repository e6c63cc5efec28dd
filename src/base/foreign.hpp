#pragma once
// Number types of others with the representation of one of Tessera's.

#include <complex>
#include <type_traits>

#include "base/bfloat16.hpp"
#include "base/complex.hpp"
#include "base/half.hpp"
#include "base/view.hpp"

/// Defined where C++ has _Float16: GCC 12 has it on x86 only, and its macro of the type everywhere.
#if defined(__FLT16_MANT_DIG__) && (defined(__x86_64__) || defined(__clang__) || __GNUC__ > 12)
#define TESSERA_HAS_FLOAT16 1
#endif

struct __half;  // of CUDA
struct __nv_bfloat16;

namespace tessera::inline v1 {

template <class T>
struct OwnOf {
  using type = T;
};
template <class F>
struct OwnOf<std::complex<F>> {
  using type = Complex<F>;
};
template <>
struct OwnOf<__half> {
  using type = Half;
};
template <>
struct OwnOf<__nv_bfloat16> {
  using type = BFloat16;
};
#if !defined(__CUDACC__)
#if defined(TESSERA_HAS_FLOAT16)
template <>
struct OwnOf<_Float16> {  // std::float16_t is a name of it
  using type = Half;
};
#endif
#if defined(__BFLT16_MANT_DIG__)
template <>
struct OwnOf<__bf16> {  // std::bfloat16_t is a name of it
  using type = BFloat16;
};
#endif
#endif
/// The type of Tessera with the representation of T: Complex for std::complex, Half for _Float16,
/// std::float16_t and __half, BFloat16 for __bf16, std::bfloat16_t and __nv_bfloat16; T for others.
template <class T>
using Own = typename OwnOf<T>::type;
template <class T>
inline constexpr bool is_foreign = !std::is_same_v<Own<T>, T>;

/// The type of factors of sums of T: float for halves, under any name.
template <class T>
using Factor = std::conditional_t<is_stored_half<Own<T>>, float, T>;

/// Return the same numbers, and matrices of them, as Tessera's.
template <class T>
[[nodiscard]] constexpr Own<T> own(const T& x) {
  if constexpr (is_complex<Own<T>> && is_foreign<T>) {
    return {x.real(), x.imag()};
  } else {
    return x;
  }
}
template <class T>
[[nodiscard]] MatrixView<Own<T>> own(const MatrixView<T>& x) {
  return {reinterpret_cast<Own<T>*>(x.data), x.rows, x.cols, x.ld};
}
template <class T>
[[nodiscard]] MatrixView<const Own<T>> own(const MatrixView<const T>& x) {
  return {reinterpret_cast<const Own<T>*>(x.data), x.rows, x.cols, x.ld};
}

}  // namespace tessera::inline v1
