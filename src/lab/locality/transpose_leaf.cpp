// Leaf kernels of the transpose with reported loads and stores: the source compiled per instruction
// set, in lanes of 16 bytes.

#include "lab/locality/tracer.hpp"

#define TESSERA_ISA traced
#define TESSERA_LOADED(from, bytes) locality::report(locality::Access::Kind::load, from, bytes)
#define TESSERA_STORED(to, bytes) locality::report(locality::Access::Kind::store, to, bytes)

#include "kernels/transpose/leaf.cpp"
