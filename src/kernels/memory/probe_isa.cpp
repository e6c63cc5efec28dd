// The probe loops of one instruction set. Compiled once per instruction set (tessera_isa_source),
// so the sets must not share symbols.

#include "base/simd/number.hpp"
#include "kernels/memory/probe_leaf.hpp"

namespace tessera::inline v1::TESSERA_ISA {
namespace {

using memory::ProbeKernels;
using simd::Simd;

/// Runs enough independent chains to hide the latency of an fma on every machine, few enough for
/// the registers.
template <class T>
index_t fma_rounds(index_t rounds, T* sink) {
  using S = Simd<T>;
  constexpr int chains = S::registers == 32 ? 24 : 12;
  typename S::vec x[chains];
#pragma GCC unroll 24
  for (int c = 0; c < chains; ++c) x[c] = S::broadcast(static_cast<T>(c));
  const auto factor = S::broadcast(*sink);
  const auto summand = S::broadcast(*sink * T(0.25));
  for (index_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int c = 0; c < chains; ++c) x[c] = S::mul_add(x[c], factor, summand);
  }
#pragma GCC unroll 24
  for (int c = 1; c < chains; ++c) x[0] += x[c];
  T lane[S::lanes];
  S::store(lane, x[0]);
  *sink = lane[0];
  return rounds * chains * S::lanes * 2;
}

void copy(double* to, const double* from, index_t n) {
  using S = Simd<double>;
  for (index_t i = 0; i < n; i += S::lanes) S::stream(to + i, S::load(from + i));
}

void triad(double* to, const double* x, double s, const double* y, index_t n) {
  using S = Simd<double>;
  const auto scale = S::broadcast(s);
  for (index_t i = 0; i < n; i += S::lanes)
    S::stream(to + i, S::mul_add(scale, S::load(y + i), S::load(x + i)));
}

/// Adds in independent chains: one would wait for the latency of the addition, not for the loads.
double read(const double* x, index_t n) {
  using S = Simd<double>;
  constexpr int chains = 8;
  typename S::vec sum[chains];
#pragma GCC unroll 8
  for (int c = 0; c < chains; ++c) sum[c] = S::broadcast(0.0);
  for (index_t i = 0; i < n; i += chains * S::lanes) {
#pragma GCC unroll 8
    for (int c = 0; c < chains; ++c) sum[c] += S::load(x + i + c * S::lanes);
  }
#pragma GCC unroll 8
  for (int c = 1; c < chains; ++c) sum[0] += sum[c];
  double lane[S::lanes];
  S::store(lane, sum[0]);
  double total = 0;
  for (const double part : lane) total += part;
  return total;
}

void fill(double* to, double value, index_t n) {
  using S = Simd<double>;
  const auto x = S::broadcast(value);
  for (index_t i = 0; i < n; i += S::lanes) S::store(to + i, x);
}

void copy_cached(double* to, const double* from, index_t n) {
  using S = Simd<double>;
  for (index_t i = 0; i < n; i += S::lanes) S::store(to + i, S::load(from + i));
}

constexpr ProbeKernels kernels{fma_rounds<float>, fma_rounds<double>, copy, triad, read, fill,
                               copy_cached};

}  // namespace

const ProbeKernels& probe_kernels();
const ProbeKernels& probe_kernels() { return kernels; }

}  // namespace tessera::inline v1::TESSERA_ISA
