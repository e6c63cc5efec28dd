# Peers of matmul: OpenBLAS and BLIS export the same names, so neither is linked; both are loaded by
# path.
find_library(BENCH_OPENBLAS NAMES libopenblas.so.0 PATH_SUFFIXES openblas-openmp)
find_library(BENCH_BLIS NAMES libblis.so.4 libblis.so.3 PATH_SUFFIXES blis-openmp)
add_executable(bench_matmul matmul.cpp)
target_link_libraries(bench_matmul PRIVATE tessera_flags tessera_kernels CLI11::CLI11 fmt::fmt
  ${CMAKE_DL_LIBS})
target_include_directories(bench_matmul PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(bench_matmul PRIVATE
  BENCH_OPENBLAS="$<IF:$<BOOL:${BENCH_OPENBLAS}>,${BENCH_OPENBLAS},>"
  BENCH_BLIS="$<IF:$<BOOL:${BENCH_BLIS}>,${BENCH_BLIS},>")

# Distributed peer: pdgemm of ScaLAPACK (Debian: libscalapack-openmpi-dev).
find_library(TESSERA_SCALAPACK scalapack-openmpi)
if(TESSERA_SCALAPACK)
  add_executable(bench_matmul_mpi ${CMAKE_CURRENT_LIST_DIR}/matmul_mpi.cpp)
  target_include_directories(bench_matmul_mpi PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(bench_matmul_mpi PRIVATE BENCH_OPENBLAS="" BENCH_BLIS="")
  target_link_libraries(bench_matmul_mpi PRIVATE tessera_flags tessera_dist fmt::fmt MPI::MPI_CXX
    ${TESSERA_SCALAPACK}
                                                 ${CMAKE_DL_LIBS})
  add_dependencies(bench_matmul bench_matmul_mpi)
else()
  message(STATUS "bench_matmul_mpi needs ScaLAPACK: apt-get install libscalapack-openmpi-dev")
endif()
