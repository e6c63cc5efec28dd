#pragma once
// The C++ API in one include: matrices on the ranks, their distributed product with its check, and
// their files.
//
//   return tessera::mpi::run_main(&argc, &argv, [](const tessera::mpi::Communicator& comm) {
//     using namespace tessera;
//     dist::DistributedMatrix<double> a(comm, layout::row_blocks(m, k, comm.size()));
//     // b and c likewise
//     io::read_box<double>({"a.h5", "/A"}, a.box(), a.view());
//     mpi::Phases phases;
//     dist::matmul::multiply<double>(comm, {.a = a, .b = b, .c = c}, {}, phases);
//     return ExitCode::ok;
//   });

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/version.hpp"
#include "base/view.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/matrix.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/verify_file.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"
#include "mpi/runtime.hpp"
#endif
