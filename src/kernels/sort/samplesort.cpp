// Instantiations of samplesort for plain items.

#include "kernels/sort/samplesort.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(samplesort);

}  // namespace tessera::sort
