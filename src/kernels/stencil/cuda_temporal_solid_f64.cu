// Instantiations of the passes over solids for f64.

#include "kernels/stencil/cuda_temporal_solid.cuh"

namespace tessera::inline v1::stencil {

template void march_solid(const DeviceSweep<double>&, int, index_t, index_t, const Tuning&,
                          DeviceStream);
template index_t solid_shared_bytes<double>(index_t);

void add_temporal_solid_f64(std::vector<machine::DeviceFunction>& to) {
  add_temporal_solid_functions<double>("f64", to);
}

}  // namespace tessera::inline v1::stencil
