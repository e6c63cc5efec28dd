#pragma once
// The C++ API in one include: matrices on the ranks, products with their check, transposes,
// stencils, sorts, and files.
//
//   return tessera::mpi::run_main(&argc, &argv, [](const tessera::mpi::Communicator& comm) {
//     using namespace tessera;
//     dist::DistributedMatrix<double> a(comm, layout::row_blocks(m, k, comm.size()));
//     // b and c likewise
//     io::read_box<double>({"a.h5", "/A"}, a.box(), a.view());
//     dist::matmul::multiply(comm, a, b, c);
//     return ExitCode::ok;
//   });
//
// A program that starts MPI itself wraps its communicator: tessera::mpi::Communicator(mpi_comm).

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/note.hpp"
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
#include "dist/matmul/laid_out.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/matrix.hpp"
#include "dist/records.hpp"
#include "dist/relayout/relayout.hpp"
#include "dist/sort/argsort.hpp"
#include "dist/sort/sort.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/plan.hpp"
#include "dist/transpose/transpose.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "io/verify_file.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"
#include "mpi/runtime.hpp"
#include "mpi/transfer.hpp"
#endif
