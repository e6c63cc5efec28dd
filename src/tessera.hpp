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
//
// Headers of one subject: tessera/matmul.hpp, transpose.hpp, stencil.hpp, sort.hpp, relayout.hpp
// and mpi.hpp, none of which includes HDF5, and io.hpp.

#include "base/error.hpp"
#include "base/index.hpp"
#include "base/note.hpp"
#include "base/version.hpp"
#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "matmul.hpp"
#include "sort.hpp"
#include "stencil.hpp"
#include "transpose.hpp"
#if __has_include("mpi/communicator.hpp")  // not installed by a build without MPI
#include "dist/matrix.hpp"
#include "dist/records.hpp"
#include "io.hpp"
#include "mpi.hpp"
#include "relayout.hpp"
#endif
