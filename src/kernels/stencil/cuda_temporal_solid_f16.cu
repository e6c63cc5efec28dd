// Instantiations of the passes over solids for 16-bit fields.

#include "kernels/stencil/cuda_temporal_solid.cuh"

namespace tessera::inline v1::stencil {

template void march_solid(const DeviceSweep<Half>&, int, index_t, index_t, const Tuning&,
                          DeviceStream);
template index_t solid_shared_bytes<Half>(index_t);

void add_temporal_solid_f16(std::vector<machine::DeviceFunction>& to) {
  add_temporal_solid_functions<Half>("f16", to);
}

}  // namespace tessera::inline v1::stencil
