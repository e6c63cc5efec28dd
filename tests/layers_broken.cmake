# cmake -DRULES=<layers.cmake> -DSCRATCH=<folder> -P layers_broken.cmake: tests that every rule of
# layers.cmake fails on a tree with one source that violates it, and names the source; a tree that
# obeys all of them passes.
cmake_minimum_required(VERSION 3.25)

# Returns the result and the output of the rules on a tree with this one source.
function(try_source path text)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/${path} "${text}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${SCRATCH} -P ${RULES}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  set(result ${result} PARENT_SCOPE)
  set(words "${output}${error}" PARENT_SCOPE)
endfunction()

function(expect_failure path text reason)
  try_source(${path} "${text}")
  # The message is wrapped.
  string(REGEX REPLACE "[ \n]+" " " words "${words}")
  if(result EQUAL 0 OR NOT words MATCHES "${path}:[0-9]+: [^\n]*${reason}")
    message(FATAL_ERROR
      "${path} with\n${text}\nshould fail with '${reason}' and the rules said\n${words}")
  endif()
endfunction()

function(expect_success path text)
  try_source(${path} "${text}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${path} with\n${text}\nkeeps to the rules, which said\n${words}")
  endif()
endfunction()

expect_failure(src/base/a.cpp "#include \"io/h5.hpp\"\n" "base/ may not include io/")
expect_failure(src/kernels/matmul/a.cpp "#include \"mpi/communicator.hpp\"\n"
  "kernels/ may not include mpi/")
expect_failure(src/run/a.cpp "#include \"workloads/frame/workload.hpp\"\n"
  "run/ may not include workloads/")
expect_failure(src/c/a.cpp "#include \"run/options.hpp\"\n" "c/ may not include run/")
expect_failure(src/c/a.cpp "void f() { MPI_Barrier(c); }\n" "MPI belongs in mpi/")
expect_failure(src/workloads/sort/a.cpp "#include \"lab/locality/simulated_counters.hpp\"\n"
  "workloads/ may not include lab/")
expect_failure(src/odd/a.cpp "int x = 0;\n" "src/odd/ is no layer")
expect_failure(src/dist/a.cpp "#pragma omp parallel\n" "OpenMP belongs in")
expect_failure(src/io/a.cpp "void f() { MPI_Barrier(c); }\n" "MPI belongs in mpi/")
expect_failure(src/run/a.cpp "void f() { H5Fopen(n, f, p); }\n" "HDF5 belongs in io/")
expect_failure(src/dist/a.cpp "void f() { cudaMalloc(p, n); }\n" "CUDA belongs in")
expect_failure(src/kernels/sort/a.cpp "#include <immintrin.h>\n" "processor belong in base/simd/")
expect_failure(src/machine/a.cpp "#include <cpuid.h>\n" "processor belong in base/simd/")
expect_failure(tests/bench/a.cpp "#include <arm_sve.h>\n" "processor belong in base/simd/")
expect_failure(src/kernels/sort/a.cpp "#include <iostream>\n" "kernels print nothing")
expect_failure(src/workloads/frame/a.cpp "#include \"workloads/sort/problem.hpp\"\n"
               "workloads/frame/ may not include workloads/sort/")
expect_failure(src/workloads/sort/a.cpp "#include \"workloads/matmul/problem.hpp\"\n"
               "workloads/sort/ may not include workloads/matmul/")
expect_failure(src/workloads/frame/a.cpp "bool f() { return name == \"sort\"; }\n"
  "the frame knows no workload")
expect_failure(apps/sort/a.cpp "#include \"mpi/agreement.hpp\"\n" "apps/ holds commands")
expect_failure(apps/sort/a.cpp "#include \"dist/sort/sort.hpp\"\n" "apps/ holds commands")
expect_failure(apps/sort/a.cpp "#include \"kernels/sort/radix.hpp\"\n" "apps/ holds commands")
expect_failure(apps/python/a.cpp "#include \"io/dataset.hpp\"\n" "apps/python/ may not include")
expect_failure(apps/python/a.cpp "#include \"mpi/agreement.hpp\"\n" "apps/python/ may not include")
expect_failure(apps/python/distributed/a.cpp "#include \"run/session.hpp\"\n"
  "apps/python/distributed/ may not include")
string(REPEAT "int x;\n" 401 long)
string(REPLACE ";" "" long "${long}")
expect_failure(apps/a.cpp "${long}" "401 lines")
expect_success(src/workloads/sort/a.cpp
  "#include \"workloads/frame/workload.hpp\"\n#include \"run/session.hpp\"\n")
expect_failure(src/lab/CMakeLists.txt "target_compile_options(a PRIVATE -Werror)\n"
  "-Werror belongs in TESSERA_ERRORS")
expect_success(src/base/simd/a.hpp "#include <immintrin.h>\n")
expect_success(apps/python/a.cpp
  "#include \"kernels/sort/records.hpp\"\n#include \"machine/buffer.hpp\"\n")
expect_success(apps/sort/a.cpp
  "#include \"kernels/sort/variants.hpp\"\n#include \"workloads/sort/workload.hpp\"\n")
message("every rule fails where it is broken")
