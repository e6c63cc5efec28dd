// With the register block of the instruction set in the file's name.

#define TESSERA_ISA traced_baseline
#define TESSERA_TRACED_BYTES 16

#include "lab/locality/matmul_leaf.hpp"

TESSERA_TRACED_LEAF();
