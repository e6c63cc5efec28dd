#pragma once
// The tables of libtessera_cuda.so (machine/cuda_library.hpp) for the workloads.

#include <memory>
#include <span>
#include <vector>

#include "kernels/matmul/cuda.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/relayout/move_indexed.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/sort/resident.hpp"
#include "kernels/stencil/cuda.hpp"
#include "kernels/stencil/resident.hpp"
#include "kernels/transpose/cuda.hpp"

namespace tessera::inline v1 {

/// The device's side of a workload: the rows of its table, and the functions that they launch.
template <class Variant>
struct DeviceSide {
  std::vector<Variant> (*rows)();
  std::vector<machine::DeviceFunction> (*functions)();
};

struct CudaKernels {
  DeviceSide<matmul::Variant> matmul;
  DeviceSide<transpose::Variant> transpose;
  DeviceSide<stencil::Variant> stencil;
  DeviceSide<sort::Variant> sort;
  std::span<const transpose::LadderRow> ladder;
  transpose::DeviceRearrange rearrange;
  relayout::DeviceMove move_indexed;
  const stencil::ResidentKernels<Half>* fields_f16;
  const stencil::ResidentKernels<float>* fields_f32;
  const stencil::ResidentKernels<double>* fields_f64;
  const sort::ResidentKernels<std::uint32_t>* keys32;
  const sort::ResidentKernels<std::uint64_t>* keys64;
  std::unique_ptr<memory::DeviceProbe> (*make_probe)(const memory::DeviceProbeVariant&,
                                                     const memory::DeviceWalk&);
  bool (*can_make)(const memory::DeviceProbeVariant&);
  std::vector<machine::DeviceFunction> (*probe_functions)();
};

}  // namespace tessera::inline v1
