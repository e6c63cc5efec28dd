#pragma once
// The inner loops of the probes, compiled once for each instruction set.

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::memory {

struct ProbeKernels {
  /// `rounds` rounds of fma on all accumulators; returns the operations done. The sum goes to
  /// *sink.
  index_t (*fma_f32)(index_t rounds, float* sink);
  index_t (*fma_f64)(index_t rounds, double* sink);
  /// to[0:n] = from[0:n], past the caches where the set can; aligned to 64 bytes, n a multiple
  /// of 8.
  void (*copy)(double* to, const double* from, index_t n);
  /// to[0:n] = x[0:n] + s * y[0:n], the same way.
  void (*triad)(double* to, const double* x, double s, const double* y, index_t n);
};

[[nodiscard]] const ProbeKernels& probe_kernels(machine::Isa isa);

}  // namespace tessera::memory
