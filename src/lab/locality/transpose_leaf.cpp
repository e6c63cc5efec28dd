// The leaf kernels of the transpose, reporting what they load and store: the source that is
// compiled for every instruction set, in lanes of 16 bytes.

#include "lab/locality/tracer.hpp"

#define TESSERA_ISA traced
#define TESSERA_LOADED(from, bytes) locality::report(locality::Access::Kind::load, from, bytes)
#define TESSERA_STORED(to, bytes) locality::report(locality::Access::Kind::store, to, bytes)

#include "kernels/transpose/leaf.cpp"
