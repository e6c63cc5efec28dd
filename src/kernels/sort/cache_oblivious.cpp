// Instantiations of cache_oblivious (lazy funnelsort) for plain items.

#include "kernels/sort/cache_oblivious.hpp"

namespace tessera::sort {

TESSERA_SORT_INSTANTIATE(cache_oblivious);

}  // namespace tessera::sort
