# What Tessera stands on: Debian 12 packages, found here and nowhere else.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# CMake 3.25.1 does not know that nvcc 13 has C++20 and would stop; the flag itself is in
# TesseraTargets.cmake.
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
include(TesseraWholePackages)
find_package(fmt REQUIRED)
tessera_require_libraries(fmt::fmt)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)

# Any flavour of the HDF5 C library serves: files are created serially and raw data is written at
# its offset by every rank (src/decisions/io.md). The parallel flavour is preferred where both are
# there.
option(TESSERA_HDF5_PARALLEL "Prefer the parallel flavour of HDF5" ON)
if(TESSERA_MPI)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI REQUIRED COMPONENTS C CXX)
  find_package(CLI11 REQUIRED)
  find_package(tomlplusplus REQUIRED)
  tessera_require_libraries(tomlplusplus::tomlplusplus)
  find_package(nlohmann_json REQUIRED)
  set(HDF5_PREFER_PARALLEL ${TESSERA_HDF5_PARALLEL})
  find_package(HDF5 REQUIRED COMPONENTS C HL)
  include(TesseraOneMpi)
  tessera_require_one_mpi()
  find_package(ZLIB REQUIRED)
  # Decompresses about 2.5 times as fast as zlib, which replaces it where it is missing.
  pkg_check_modules(LIBDEFLATE IMPORTED_TARGET libdeflate)
endif()

set(TESSERA_HAVE_CUDA OFF)
if(TESSERA_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual CACHE STRING "CUDA architectures")
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(TESSERA_HAVE_CUDA ON)
  endif()
endif()
if(TESSERA_MPI)
  set(files ", HDF5 ${HDF5_VERSION} (parallel: ${HDF5_IS_PARALLEL})")
endif()
message(STATUS "Tessera: CUDA ${TESSERA_HAVE_CUDA}, MPI ${TESSERA_MPI}${files}")
