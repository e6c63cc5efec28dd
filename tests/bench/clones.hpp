#pragma once
// Loops that the compiler vectorises for each instruction set of x86-64, selected at run time; for
// that of the build on other processors.

#if defined(__x86_64__)
#define TESSERA_CLONES(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define TESSERA_CLONES(...)
#endif
