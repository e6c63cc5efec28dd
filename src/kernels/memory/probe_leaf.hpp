#pragma once
// The inner loops of the probes, compiled once per instruction set.

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::memory {

struct ProbeKernels {
  /// Runs `rounds` rounds of fma on all accumulators; returns the number of operations. Stores the
  /// sum to *sink.
  index_t (*fma_f32)(index_t rounds, float* sink);
  index_t (*fma_f64)(index_t rounds, double* sink);
  /// Copies to[0:n] = from[0:n], by streaming stores if the set has them; aligned to 64 bytes, n a
  /// multiple of 8.
  void (*copy)(double* to, const double* from, index_t n);
  /// Computes to[0:n] = x[0:n] + s * y[0:n] likewise.
  void (*triad)(double* to, const double* x, double s, const double* y, index_t n);
  /// Returns the sum of x[0:n], each element loaded once; aligned to 64 bytes, n a multiple of 64.
  double (*read)(const double* x, index_t n);
  /// Sets to[0:n] = value, and to[0:n] = from[0:n], by ordinary stores: into the caches. Aligned to
  /// 64 bytes, n a multiple of 8.
  void (*fill)(double* to, double value, index_t n);
  void (*copy_cached)(double* to, const double* from, index_t n);
};

[[nodiscard]] const ProbeKernels& probe_kernels(machine::Isa isa);

}  // namespace tessera::inline v1::memory
