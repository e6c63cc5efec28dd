#pragma once
// Transposes of matrices of records: of one process, and of the ranks of a communicator.

#include "kernels/transpose/update.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/transpose/permute_plan.hpp"
#include "dist/transpose/transpose.hpp"
#endif
