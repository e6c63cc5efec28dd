#pragma once
// Products of matrices: of one process, and of the ranks of a communicator, with their check.

#include "kernels/matmul/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/laid_out.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/matmul/multiply_plan.hpp"
#endif
