// Builds without CUDA: no device probes.

#include "kernels/memory/device_probes.hpp"

namespace tessera::memory {

std::unique_ptr<DeviceProbe> make_probe(const DeviceProbeVariant&, const DeviceWalk&) {
  return nullptr;
}
bool can_make(const DeviceProbeVariant&) { return false; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

}  // namespace tessera::memory
