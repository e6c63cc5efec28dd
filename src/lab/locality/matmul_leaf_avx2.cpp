// Traced leaf kernels with the register block of AVX2.

#define TESSERA_ISA traced_avx2
#define TESSERA_TRACED_BYTES 32

#include "lab/locality/matmul_leaf.hpp"

TESSERA_TRACED_LEAF();
