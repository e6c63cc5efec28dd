# Peers: OpenBLAS omatcopy and Eigen (Debian: libopenblas-openmp-dev, libeigen3-dev).
find_package(Eigen3 QUIET NO_MODULE)
find_library(BENCH_CBLAS NAMES openblas PATH_SUFFIXES openblas-openmp openblas-pthread
  openblas-serial)
find_path(BENCH_CBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES openblas-openmp openblas-pthread
  openblas-serial openblas)
if(BENCH_CBLAS AND BENCH_CBLAS_INCLUDE AND Eigen3_FOUND)
  add_executable(bench_transpose ${CMAKE_CURRENT_LIST_DIR}/transpose.cpp)
  target_include_directories(bench_transpose PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_include_directories(bench_transpose SYSTEM PRIVATE ${BENCH_CBLAS_INCLUDE})
  target_link_libraries(bench_transpose PRIVATE tessera_flags tessera_kernels CLI11::CLI11 fmt::fmt
    Eigen3::Eigen
                                                ${BENCH_CBLAS})
else()
  message(STATUS
    "bench_transpose needs OpenBLAS and Eigen: apt-get install libopenblas-openmp-dev "
    "libeigen3-dev")
endif()

# Distributed peers: pdtran of ScaLAPACK and FFTW-MPI (Debian: libscalapack-openmpi-dev,
# libfftw3-mpi-dev).
find_library(TESSERA_SCALAPACK scalapack-openmpi)
find_library(TESSERA_FFTW_MPI fftw3_mpi)
find_library(TESSERA_FFTW fftw3)
find_path(TESSERA_FFTW_INCLUDE fftw3-mpi.h)
if(TESSERA_SCALAPACK AND TESSERA_FFTW_MPI AND TESSERA_FFTW AND TESSERA_FFTW_INCLUDE)
  foreach(name transpose permute)
    add_executable(bench_${name}_mpi ${CMAKE_CURRENT_LIST_DIR}/${name}_mpi.cpp)
    target_include_directories(bench_${name}_mpi PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_include_directories(bench_${name}_mpi SYSTEM PRIVATE ${TESSERA_FFTW_INCLUDE})
    target_link_libraries(bench_${name}_mpi PRIVATE tessera_flags tessera_dist CLI11::CLI11
      fmt::fmt MPI::MPI_CXX ${TESSERA_SCALAPACK} ${TESSERA_FFTW_MPI} ${TESSERA_FFTW})
    if(TARGET bench_transpose)
      add_dependencies(bench_transpose bench_${name}_mpi)
    endif()
  endforeach()
else()
  message(STATUS
    "bench_transpose_mpi needs ScaLAPACK and FFTW: apt-get install "
    "libscalapack-openmpi-dev libfftw3-dev libfftw3-mpi-dev")
endif()
