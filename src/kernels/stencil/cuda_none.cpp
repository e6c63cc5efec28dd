// Builds without CUDA: no device variants of stencil.

#include "kernels/stencil/cuda.hpp"

namespace tessera::stencil {

std::vector<Variant> cuda_rows() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

template <class T>
const ResidentKernels<T>* resident_kernels() {
  return nullptr;
}
template const ResidentKernels<Half>* resident_kernels();
template const ResidentKernels<float>* resident_kernels();
template const ResidentKernels<double>* resident_kernels();

}  // namespace tessera::stencil
