#pragma once
// Communicators, agreement on errors, the start and end of MPI, and matrices between layouts.

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"
#include "mpi/runtime.hpp"
#include "mpi/transfer.hpp"
