// From an instruction set to the probes compiled for it.

#include "kernels/memory/probe_leaf.hpp"

namespace tessera::baseline {
const memory::ProbeKernels& probe_kernels();
}

#ifdef TESSERA_ONLY_BASELINE

namespace tessera::avx2 {
using baseline::probe_kernels;
}
namespace tessera::avx512 {
using baseline::probe_kernels;
}

#else

namespace tessera::avx2 {
const memory::ProbeKernels& probe_kernels();
}
namespace tessera::avx512 {
const memory::ProbeKernels& probe_kernels();
}

#endif

namespace tessera::memory {

const ProbeKernels& probe_kernels(machine::Isa isa) {
  if (isa == machine::Isa::avx512) return avx512::probe_kernels();
  return isa == machine::Isa::avx2 ? avx2::probe_kernels() : baseline::probe_kernels();
}

}  // namespace tessera::memory
