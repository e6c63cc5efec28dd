#pragma once
// Row kernels: one step for a block of rows, compiled for several instruction sets.

#include "base/bfloat16.hpp"
#include "kernels/stencil/stencil.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::stencil {

/// The taps of a stencil; offsets in elements for the strides of the field.
template <class T>
struct Taps {
  const Arithmetic<T>* weight;
  const index_t* offset;
  index_t count;
  Arithmetic<T> previous;
  bool far = false;  ///< prefetches go to the second-level instead of the first-level cache
};

/// A block of rows: out[y * stride_y + x] for 0 <= y < rows, 0 <= x < n from in at the same
/// positions and their neighbours. Kernels read and ignore up to a cache line beyond the stencil's
/// reach in each row.
template <class T>
struct Rows {
  const T* in;
  T* out;
  index_t stride_y, stride_z;
  index_t planes, rows, n;
};

template <class T>
using RowKernel = void (*)(const Taps<T>&, const Rows<T>&);

/// reference: the plain loop over the taps. vector: specialised by shape and radius, neighbours and
/// column sums in registers.
enum class Loops { reference, vector };
/// through: streaming stores, for fields that exceed the caches.
enum class Stores { cached, through };

/// The key by which a kernel is selected.
struct KernelKey {
  Loops loops;
  Stores stores;
  Form form;
  Rule rule;
  bool star;      ///< a full star of that radius
  bool previous;  ///< two time levels
  int dims;
  int radius;
};
[[nodiscard]] KernelKey kernel_key(const Stencil& stencil, Loops loops, Stores stores);

template <class T>
[[nodiscard]] RowKernel<T> row_kernel(const KernelKey& key, machine::Isa isa);

// Per instruction set; sets that this build does not contain are not defined.
namespace baseline {
RowKernel<float> row_kernel_f32(const KernelKey& key);
RowKernel<double> row_kernel_f64(const KernelKey& key);
RowKernel<Half> row_kernel_f16(const KernelKey& key);
RowKernel<BFloat16> row_kernel_bf16(const KernelKey& key);
}  // namespace baseline
namespace bits256 {
RowKernel<float> row_kernel_f32(const KernelKey& key);
RowKernel<double> row_kernel_f64(const KernelKey& key);
RowKernel<Half> row_kernel_f16(const KernelKey& key);
RowKernel<BFloat16> row_kernel_bf16(const KernelKey& key);
}  // namespace bits256
namespace bits512 {
RowKernel<float> row_kernel_f32(const KernelKey& key);
RowKernel<double> row_kernel_f64(const KernelKey& key);
RowKernel<Half> row_kernel_f16(const KernelKey& key);
RowKernel<BFloat16> row_kernel_bf16(const KernelKey& key);
}  // namespace bits512

}  // namespace tessera::inline v1::stencil
