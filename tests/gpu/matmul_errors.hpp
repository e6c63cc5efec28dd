#pragma once
// Rates of products in reduced precision and of complex ones, with their errors.

#include <algorithm>
#include <cmath>

#include "bench.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "machine/fork_join.hpp"

namespace tessera::matmul {

/// Print the rate and the error of f32 products by --precision; of products of 8 bits and those
/// of cublasLt; and of complex products by four and by three real ones and by cuBLAS.
void print_precisions(index_t n);
void print_bytes(index_t n);
void print_complex(index_t n);

/// Returns values of the device as W, the real ones of T by way of f32.
template <class W, class T>
std::vector<W> wide_values(const T* from, index_t count) {
  std::vector<T> there(static_cast<std::size_t>(count));
  gpu::cuda::check(cudaMemcpy(there.data(), from, there.size() * sizeof(T), cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
  std::vector<W> values(there.size());
  for (std::size_t at = 0; at < values.size(); ++at) {
    if constexpr (is_complex<W>) {
      values[at] = {there[at].re, there[at].im};
    } else {
      values[at] = static_cast<W>(static_cast<float>(there[at]));
    }
  }
  return values;
}

/// The first rows of a product of (n, n) matrices, on the host in the precision of W.
template <class W>
class Reference {
 public:
  /// op_b is none, or transpose if b is stored transposed.
  template <class T>
  Reference(index_t n, const T* a, const T* b, Op op_b) : n_(n) {
    const std::vector<W> left = wide_values<W>(a, rows * n), right = wide_values<W>(b, n * n);
    want_.resize(left.size());
    const Gemm<W> g{.a = {left.data(), rows, n, n},
                    .b = {right.data(), n, n, n},
                    .op_b = op_b,
                    .c = {want_.data(), rows, n, n}};
    machine::parallel(machine::default_threads(), [&] { cache_oblivious(g); });
  }
  /// Returns the error of c, relative in the Frobenius norm.
  template <class T>
  [[nodiscard]] double error_of(const T* c) const {
    const std::vector<W> got = wide_values<W>(c, rows * n_);
    double off = 0, all = 0;
    for (std::size_t at = 0; at < got.size(); ++at) {
      off += square(got[at] - want_[at]);
      all += square(want_[at]);
    }
    return std::sqrt(off / all);
  }

 private:
  static constexpr index_t rows = 64;
  static double square(double x) { return x * x; }
  static double square(Complex<double> x) { return x.re * x.re + x.im * x.im; }

  index_t n_;
  std::vector<W> want_;
};

inline double flops_of(index_t n) { return 2.0 * std::pow(static_cast<double>(n), 3); }

}  // namespace tessera::matmul
