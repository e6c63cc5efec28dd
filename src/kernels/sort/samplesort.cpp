#include "kernels/sort/samplesort.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(samplesort);

}  // namespace tessera::sort
