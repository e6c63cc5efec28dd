#pragma once
// Stencils on fields: of one process, and of the ranks of a communicator.

#include "kernels/stencil/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/stencil/advance.hpp"
#include "dist/stencil/halo_exchange.hpp"
#include "dist/stencil/plan.hpp"
#endif
