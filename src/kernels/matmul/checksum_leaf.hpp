#pragma once
// The leaves of multiply_vectors, compiled once per instruction set.

#include "kernels/matmul/checksum.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::matmul {

template <class T>
struct ChecksumKernels {
  /// Multiplies rows of a by x: y[v, i] += sum over p of a[i, p] x[v, p].
  void (*rows)(MatrixView<const T> a, const Vectors& vectors);
  /// Multiplies columns of a by x: y[v, i] += sum over p of a[p, i] x[v, p].
  void (*columns)(MatrixView<const T> a, const Vectors& vectors);
};

template <class T>
[[nodiscard]] const ChecksumKernels<T>& checksum_kernels(machine::Isa isa);

}  // namespace tessera::inline v1::matmul
