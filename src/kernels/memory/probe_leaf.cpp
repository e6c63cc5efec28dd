// Dispatch from an instruction set to the probes compiled for it.

#include "kernels/memory/probe_leaf.hpp"

namespace tessera::baseline {
const memory::ProbeKernels& probe_kernels();
}
namespace tessera::bits256 {
const memory::ProbeKernels& probe_kernels();
}
namespace tessera::bits512 {
const memory::ProbeKernels& probe_kernels();
}

namespace tessera::memory {

const ProbeKernels& probe_kernels(machine::Isa isa) { return TESSERA_OF_ISA(isa, probe_kernels)(); }

}  // namespace tessera::memory
