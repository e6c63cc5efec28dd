#pragma once
// Energy counters of NVIDIA GPUs, from the management library of their driver (NVML), which is
// loaded when it is first asked for.

#include "machine/energy.hpp"

namespace tessera::inline v1::machine {

/// Returns the counter of the GPU at a PCI address ("0000:19:00.0"), which names the same GPU for
/// CUDA and NVML: their numbers differ, and CUDA_VISIBLE_DEVICES changes CUDA's only. Volta and
/// newer GPUs count energy, which includes the memory; the power of older ones is integrated.
/// Without a counter, `missing` has the reason in the library's words. Never throws Error.
[[nodiscard]] EnergyCounters gpu_energy_counter(const std::string& pci);

}  // namespace tessera::inline v1::machine
