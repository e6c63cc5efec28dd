// Instantiations of radix for plain items.

#include "kernels/sort/radix.hpp"

namespace tessera::inline v1::sort {

TESSERA_SORT_INSTANTIATE(radix);

}  // namespace tessera::inline v1::sort
