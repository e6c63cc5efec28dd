#pragma once
// The order of keys in device memory; private to this folder.

#include "kernels/sort/cuda.hpp"
#include "kernels/sort/resident.hpp"

namespace tessera::inline v1::sort {

/// As ResidentKernels::argsort.
template <class B>
void cuda_argsort(const OrderOfKeys<B>& block, DeviceStream stream);
template <class B>
[[nodiscard]] index_t cuda_argsort_bytes(index_t n);
void add_argsort_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::sort
