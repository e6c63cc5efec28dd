// Instantiations of radix for plain items.

#include "kernels/sort/radix.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(radix);

}  // namespace tessera::sort
