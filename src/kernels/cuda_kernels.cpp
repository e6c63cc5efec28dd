// The device side of every workload, from libtessera_cuda.so.

#include "kernels/cuda_kernels.hpp"

#include "machine/cuda_library.hpp"

namespace tessera::inline v1 {
namespace {

/// Returns nullptr without the library.
const CudaKernels* cuda_kernels() {
  const machine::CudaLibrary* const library = machine::find_cuda_library().library;
  return library != nullptr ? library->kernels : nullptr;
}

/// As cuda_kernels(), and nullptr without a GPU, whose place the memory of the host takes.
const CudaKernels* kernels_of_a_gpu() {
  return machine::gpus().devices.empty() ? nullptr : cuda_kernels();
}

const std::string& library_missing() { return machine::find_cuda_library().missing; }

/// Returns the rows; without the library those that say so, in a build with CUDA: the tables of all
/// ranks are alike, whatever their nodes have installed.
template <class Variant>
std::vector<Variant> rows_of(DeviceSide<Variant> CudaKernels::*workload,
                             std::span<const VariantInfo> names) {
  std::vector<Variant> rows;
  if (const CudaKernels* const kernels = cuda_kernels()) return (kernels->*workload).rows();
  if (!machine::built_with_cuda()) return rows;
  for (const VariantInfo& name : names) {
    Variant row{};
    static_cast<VariantInfo&>(row) = name;
    row.missing = library_missing;
    row.remedy = "export TESSERA_CUDA_LIBRARY=FOLDER/libtessera_cuda.so";
    rows.push_back(row);
  }
  return rows;
}

template <class Variant>
std::vector<machine::DeviceFunction> functions_of(DeviceSide<Variant> CudaKernels::*workload) {
  const CudaKernels* const kernels = cuda_kernels();
  if (kernels == nullptr) return {};
  return (kernels->*workload).functions();
}

template <class Kernels>
const Kernels* table_of(const Kernels* CudaKernels::*table) {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr ? kernels->*table : nullptr;
}

}  // namespace

namespace matmul {

std::vector<Variant> cuda_rows() { return rows_of(&CudaKernels::matmul, cuda_names); }
std::vector<machine::DeviceFunction> device_functions() {
  return functions_of(&CudaKernels::matmul);
}

}  // namespace matmul

namespace transpose {

std::vector<Variant> cuda_rows() { return rows_of(&CudaKernels::transpose, cuda_names); }
std::vector<machine::DeviceFunction> device_functions() {
  return functions_of(&CudaKernels::transpose);
}
std::span<const LadderRow> ladder() {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr ? kernels->ladder : std::span<const LadderRow>{};
}

DeviceRearrange device_rearrange() {
  const CudaKernels* const kernels = kernels_of_a_gpu();
  return kernels != nullptr ? kernels->rearrange : nullptr;
}

}  // namespace transpose

namespace relayout {

DeviceMove device_move() {
  const CudaKernels* const kernels = kernels_of_a_gpu();
  return kernels != nullptr ? kernels->move_indexed : move_indexed;
}

}  // namespace relayout

namespace stencil {

std::vector<Variant> cuda_rows() { return rows_of(&CudaKernels::stencil, cuda_names); }
std::vector<machine::DeviceFunction> device_functions() {
  return functions_of(&CudaKernels::stencil);
}
template <>
const ResidentKernels<Half>* resident_kernels() {
  return table_of(&CudaKernels::fields_f16);
}
template <>
const ResidentKernels<float>* resident_kernels() {
  return table_of(&CudaKernels::fields_f32);
}
template <>
const ResidentKernels<double>* resident_kernels() {
  return table_of(&CudaKernels::fields_f64);
}

}  // namespace stencil

namespace sort {

std::vector<Variant> cuda_rows() { return rows_of(&CudaKernels::sort, cuda_names); }
std::vector<machine::DeviceFunction> device_functions() { return functions_of(&CudaKernels::sort); }
const ResidentKernels<std::uint32_t>* resident_kernels(std::uint32_t) {
  return table_of(&CudaKernels::keys32);
}
const ResidentKernels<std::uint64_t>* resident_kernels(std::uint64_t) {
  return table_of(&CudaKernels::keys64);
}

}  // namespace sort

namespace memory {

std::unique_ptr<DeviceProbe> make_probe(const DeviceProbeVariant& row, const DeviceWalk& walk) {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr ? kernels->make_probe(row, walk) : nullptr;
}
bool can_make(const DeviceProbeVariant& row) {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr && kernels->can_make(row);
}
std::vector<machine::DeviceFunction> device_functions() {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr ? kernels->probe_functions() : std::vector<machine::DeviceFunction>{};
}

}  // namespace memory
}  // namespace tessera::inline v1
