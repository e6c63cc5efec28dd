// Instantiations of mergesort for plain items.

#include "kernels/sort/mergesort.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(mergesort);

}  // namespace tessera::sort
