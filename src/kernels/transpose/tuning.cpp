// Parameters of transpose kernels. In a file without kernels, which libtessera_cuda.so would copy
// with it.

#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {

int threads_of(const Tuning& tuning) {
  return tuning.threads > 0 ? tuning.threads : machine::default_threads();
}

}  // namespace tessera::inline v1::transpose
