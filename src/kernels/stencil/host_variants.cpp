// Instantiations of the host variants for plain elements and halves.

#include "kernels/stencil/cache_oblivious.hpp"
#include "kernels/stencil/column.hpp"
#include "kernels/stencil/naive.hpp"
#include "kernels/stencil/tiled.hpp"
#include "kernels/stencil/zigzag.hpp"

namespace tessera::inline v1::stencil {

#define TESSERA_INSTANTIATE(variant)                            \
  template void variant(const Sweep<Half>&, const Tuning&);     \
  template void variant(const Sweep<BFloat16>&, const Tuning&); \
  template void variant(const Sweep<float>&, const Tuning&);    \
  template void variant(const Sweep<double>&, const Tuning&)

TESSERA_INSTANTIATE(naive);
TESSERA_INSTANTIATE(tiled);
TESSERA_INSTANTIATE(column);
TESSERA_INSTANTIATE(zigzag);
TESSERA_INSTANTIATE(cache_oblivious);

}  // namespace tessera::inline v1::stencil
