// Traced leaf kernels with the register block of the baseline instruction set.

#define TESSERA_ISA traced_baseline
#define TESSERA_TRACED_BYTES 16

#include "lab/locality/matmul_leaf.hpp"

TESSERA_TRACED_LEAF();
