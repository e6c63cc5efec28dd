# Installs the build into a separate prefix, builds an external program against it by find_package
# and by pkg-config, and runs each: main.cpp on 3 ranks and embedded.cpp, which starts MPI itself,
# or kernels/main.cpp for a build without MPI.
#   cmake -DBUILD= -DSCRATCH= -DSOURCE= -DCXX= -DFLAGS= -DLIBDIR= -DGENERATOR=
#         -DMPICC=
#         -DLAUNCH=<mpirun with flags; empty: without MPI> -P install_test.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${words}")
  endif()
  set(words "${words}" PARENT_SCOPE)
endfunction()

function(run_outside program expected)
  run(${LAUNCH} ${program})
  if(NOT words MATCHES "${expected}")
    message(FATAL_ERROR "${program} said:\n${words}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

if(LAUNCH)
  set(ranks "3 ranks, ")
  run(${prefix}/bin/tessera --version)
  run(${prefix}/bin/tessera list)
  foreach(file share/tessera/report/report.py share/tessera/configs/matmul/smoke.toml
          share/tessera/configs/studies/tutorial/five_misses.toml
          share/tessera/jobs/env.sh share/tessera/jobs/launch.sh
    include/tessera/tessera.hpp include/tessera/tessera_scalapack.h
    include/tessera/tessera.h include/tessera/tessera_plans.h include/tessera/tessera.f90
          share/tessera/examples/kmeans.c share/tessera/examples/heat.f90
          share/tessera/examples/CMakeLists.txt
          share/doc/tessera/README.md share/doc/tessera/apps/manual/index.md
          share/doc/tessera/apps/manual/matmul_variants.png
          share/doc/tessera/apps/manual/reference/tessera-sort.md share/man/man1/tessera.1
          share/man/man1/tessera-sort.1 share/bash-completion/completions/tessera
          share/zsh/site-functions/_tessera share/fish/vendor_completions.d/tessera.fish
          share/doc/tessera/src/README.md share/doc/tessera/src/decisions/io.md)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "${file} was not installed")
    endif()
  endforeach()
else()
  set(ranks)
  set(SOURCE ${SOURCE}/kernels)
  file(GLOB_RECURSE distributed ${prefix}/include/tessera/mpi/* ${prefix}/bin/*)
  if(distributed)
    message(FATAL_ERROR "${distributed} was installed by a build without MPI")
  endif()
endif()

# The laboratory belongs to the program: neither its headers nor its library are installed.
file(GLOB laboratory ${prefix}/include/tessera/lab ${prefix}/${LIBDIR}/libtessera_lab*)
if(laboratory)
  message(FATAL_ERROR "${laboratory} was installed")
endif()
find_program(NM nm REQUIRED)
file(GLOB archives ${prefix}/${LIBDIR}/libtessera_*.a)
foreach(archive IN LISTS archives)
  execute_process(COMMAND ${NM} --defined-only ${archive} OUTPUT_VARIABLE symbols ERROR_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
  set(of_the_laboratory "8locality|10microscope|11scalability|13memory_probes")
  if(symbols MATCHES "[^ \n]*N7tessera(2v1)?(${of_the_laboratory})[^\n]*")
    message(FATAL_ERROR "${archive} has ${CMAKE_MATCH_0}")
  endif()
  string(REGEX REPLACE " T tessera_[a-z0-9_]*\n" "" symbols "${symbols}") # the C API
  if(symbols MATCHES " [TWDB] [a-z][a-z_]*\n")  # mangled names begin with _Z
    message(FATAL_ERROR "${archive} replaces a function of other libraries: ${CMAKE_MATCH_0}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run_outside(${SCRATCH}/build/outside "${ranks}0 of 943 elements wrong")
if(LAUNCH)
  run_outside(${SCRATCH}/build/embedded "0 of 900 elements wrong")
  run_outside(${SCRATCH}/build/product "22 28 49 64")
endif()

# The installed examples, as their CMakeLists.txt says; each checks its result.
if(LAUNCH)
  set(examples ${prefix}/share/tessera/examples)
  run(${CMAKE_COMMAND} -S ${examples} -B ${SCRATCH}/examples -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/examples)
  set(prints_fft "largest error below 1e-9")
  set(prints_heat "error of the wave below 1e-12")
  set(prints_join "12000 pairs, 0 wrong")
  set(prints_kmeans "9\\.[0-9]+ -?0\\.0")
  set(prints_pca "variance 8\\.0267.*variance 2\\.0066.*variance 0\\.5016")
  foreach(name fft heat join kmeans pca)
    file(STRINGS ${examples}/${name}.cpp lines)
    list(LENGTH lines count)
    if(NOT count LESS 120)
      message(FATAL_ERROR "${name}.cpp has ${count} lines")
    endif()
    set(program ${SCRATCH}/examples/${name})
    if(name STREQUAL pca)
      list(APPEND program ${SCRATCH}/in.h5:/X ${SCRATCH}/out.h5:/scores example)
    endif()
    foreach(start "" "${LAUNCH}") # one rank, and those of LAUNCH
      run(${start} ${program})
      if(NOT words MATCHES "${prints_${name}}")
        message(FATAL_ERROR "${start} ${program} said:\n${words}")
      endif()
    endforeach()
  endforeach()
endif()

# A component alone: a program that multiplies in memory needs no HDF5, and what a build lacks is
# named.
set(component kernels)
set(program ${SOURCE}/main.cpp)
set(right "0 of 943 elements wrong")
if(LAUNCH)
  set(component dist)
  set(program ${SOURCE}/dist.cpp)
  set(right "0 of 625 elements wrong")
endif()
cmake_path(GET CMAKE_CURRENT_LIST_FILE PARENT_PATH here)
set(configure ${CMAKE_COMMAND} -S ${here}/component -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DPROGRAM=${program})
run(${configure} -B ${SCRATCH}/component -DWITH=${component})
run(${CMAKE_COMMAND} --build ${SCRATCH}/component)
run_outside(${SCRATCH}/component/component "${right}")
find_program(READELF readelf REQUIRED)
function(expect_no_hdf5 file)
  run(${READELF} --dynamic ${file})
  if(NOT words MATCHES "NEEDED" OR words MATCHES "hdf5")
    message(FATAL_ERROR "${file} needs:\n${words}")
  endif()
endfunction()
expect_no_hdf5(${SCRATCH}/component/component)
execute_process(COMMAND ${configure} -B ${SCRATCH}/missing "-DWITH=kernels;tables"
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE words)
if(result EQUAL 0 OR NOT words MATCHES "tables: Tessera has no such component")
  message(FATAL_ERROR "a component that is not there:\n${words}")
endif()

set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs tessera OUTPUT_VARIABLE words
  OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND pkg-config --cflags --libs tessera-c OUTPUT_VARIABLE c_library
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND pkg-config --variable=fortran tessera-c OUTPUT_VARIABLE module
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
separate_arguments(cxx_library UNIX_COMMAND "${words}")
separate_arguments(FLAGS UNIX_COMMAND "${FLAGS}")
run(${CXX} ${FLAGS} -I${SOURCE} ${SOURCE}/main.cpp ${cxx_library} -o ${SCRATCH}/by_pkg_config)
run_outside(${SCRATCH}/by_pkg_config "${ranks}0 of 943 elements wrong")
if(LAUNCH)
  run(${CXX} ${FLAGS} -std=c++20 ${examples}/fft.cpp ${cxx_library} -o ${SCRATCH}/fft_by_pkg_config)
  run_outside(${SCRATCH}/fft_by_pkg_config "largest error below 1e-9")
endif()
run(pkg-config --cflags --libs tessera-${component})
separate_arguments(words UNIX_COMMAND "${words}")
run(${CXX} ${FLAGS} ${program} ${words} -o ${SCRATCH}/component_by_pkg_config)
run_outside(${SCRATCH}/component_by_pkg_config "${right}")
expect_no_hdf5(${SCRATCH}/component_by_pkg_config)

# C and Fortran, with the shared library.
if(NOT LAUNCH)
  return()
endif()
separate_arguments(library UNIX_COMMAND "${c_library}")
run(${MPICC} ${FLAGS} -std=c99 ${SOURCE}/product.c ${library} -o ${SCRATCH}/product_c)
run_outside(${SCRATCH}/product_c "22 28 49 64")
run(${MPICC} ${FLAGS} -std=c99 ${prefix}/share/tessera/examples/kmeans.c ${library}
  -o ${SCRATCH}/kmeans)
# Debian's packages of MPI bring mpifort without the compiler that it calls.
find_program(MPIFORT mpifort)
set(no_fortran 1)
if(MPIFORT AND NOT FLAGS)
  execute_process(COMMAND ${MPIFORT} --version RESULT_VARIABLE no_fortran OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT no_fortran)
  file(MAKE_DIRECTORY ${SCRATCH}/modules)
  foreach(program ${SOURCE}/product.f90 ${prefix}/share/tessera/examples/heat.f90)
    cmake_path(GET program STEM name)
    run(${MPIFORT} -J${SCRATCH}/modules ${module} ${program} ${library} -o ${SCRATCH}/${name}_f)
  endforeach()
  run_outside(${SCRATCH}/product_f "22 28 49 64")
  run_outside(${SCRATCH}/heat_f "largest difference")
endif()
