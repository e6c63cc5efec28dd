# cmake -DSOURCE=... -DCMAKE_READELF=... -DMPI_C_LIBRARIES=... -DHDF5_C_LIBRARIES=... \
#   -P one_mpi.cmake: compares the MPI library of an HDF5 with Tessera's, as the configuration does.

cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/TesseraOneMpi.cmake)
tessera_require_one_mpi()
