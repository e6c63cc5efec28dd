// Dispatch from an instruction set to the probes compiled for it.

#include "kernels/memory/probe_leaf.hpp"

namespace tessera::inline v1::baseline {
const memory::ProbeKernels& probe_kernels();
}
namespace tessera::inline v1::bits256 {
const memory::ProbeKernels& probe_kernels();
}
namespace tessera::inline v1::bits512 {
const memory::ProbeKernels& probe_kernels();
}

namespace tessera::inline v1::memory {

const ProbeKernels& probe_kernels(machine::Isa isa) { return TESSERA_OF_ISA(isa, probe_kernels)(); }

}  // namespace tessera::inline v1::memory
