#pragma once
// What libtessera_cuda.so offers of machine/: the functions behind gpu.hpp, occupancy.hpp and
// device.hpp.

#include "machine/driver.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::machine::cuda {

[[nodiscard]] device::Driver& driver();
/// Returns the CUDA version of the library.
[[nodiscard]] std::string version();
/// Returns the GPUs that the driver shows to this process.
[[nodiscard]] Gpus look();
[[nodiscard]] index_t free_memory();
[[nodiscard]] Occupancy occupancy(const DeviceFunction& function);

}  // namespace tessera::inline v1::machine::cuda
