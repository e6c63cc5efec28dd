// Instantiations of standard for plain items.

#include "kernels/sort/standard.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(standard);

}  // namespace tessera::sort
