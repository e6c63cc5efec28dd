// Instantiations of quicksort for plain items.

#include "kernels/sort/quicksort.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(quicksort);

}  // namespace tessera::sort
