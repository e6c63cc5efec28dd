// Instantiations of the passes over solids for f32.

#include "kernels/stencil/cuda_temporal_solid.cuh"

namespace tessera::inline v1::stencil {

template void march_solid(const DeviceSweep<float>&, int, index_t, index_t, const Tuning&,
                          DeviceStream);
template index_t solid_shared_bytes<float>(index_t);

void add_temporal_solid_f32(std::vector<machine::DeviceFunction>& to) {
  add_temporal_solid_functions<float>("f32", to);
}

}  // namespace tessera::inline v1::stencil
