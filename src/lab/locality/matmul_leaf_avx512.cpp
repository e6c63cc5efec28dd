// Traced leaf kernels with the register block of AVX-512.

#define TESSERA_ISA traced_avx512
#define TESSERA_TRACED_BYTES 64

#include "lab/locality/matmul_leaf.hpp"

TESSERA_TRACED_LEAF();
