#include "kernels/stencil/tuning.hpp"

#include <unistd.h>

#include <algorithm>

namespace tessera::stencil {
namespace {

index_t size_or(int name, index_t otherwise) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<index_t>(size) : otherwise;
}

}  // namespace

Caches caches() {
  static const Caches here{size_or(_SC_LEVEL2_CACHE_SIZE, index_t{1} << 20),
                           size_or(_SC_LEVEL3_CACHE_SIZE, index_t{16} << 20)};
  return here;
}

}  // namespace tessera::stencil
