#pragma once
// Sorts and permutations that sort: of one process, and of the ranks of a communicator.

#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/sort/argsort.hpp"
#include "dist/sort/sort.hpp"
#include "dist/sort/sorted.hpp"
#endif
