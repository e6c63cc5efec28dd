// With the register block of the instruction set in the file's name.

#define TESSERA_ISA traced_avx2
#define TESSERA_TRACED_BYTES 32

#include "lab/locality/matmul_leaf.hpp"

TESSERA_TRACED_LEAF();
