# cmake -DROOT=<source tree> -P layers.cmake: reads every source of src/ and apps/ and fails, with
# file:line, on an include that points upward, on a foreign call outside the layer that wraps it,
# and on a file that is too long. tests/layers_broken.cmake tests every rule with a source that
# violates it. Lists of CMake and the sources of tests obey rules of portability.
cmake_minimum_required(VERSION 3.25)

# Permitted includes of each layer besides itself.
set(MAY_base)
set(MAY_layout base)
set(MAY_machine base)
set(MAY_mpi base layout machine)
set(MAY_kernels base machine)
set(MAY_dist base layout machine mpi kernels)
set(MAY_scalapack base layout machine mpi kernels dist)
set(MAY_io base layout machine mpi)
set(MAY_c base layout machine mpi kernels dist io)
set(MAY_run base layout machine mpi kernels dist io)
set(MAY_workloads base layout machine mpi kernels dist io run)
set(MAY_lab base layout machine mpi kernels dist io run workloads)
set(LAYERS base layout machine mpi kernels dist scalapack io c run workloads lab)
set(WORKLOADS matmul transpose stencil sort)
set(MOST_LINES 400)
# Headers of mpi/, dist/ and kernels/ that apps/ may include: tables of names.
set(TABLES
  "\"kernels/[a-z]+/(variants|inputs|permute|misses|device_probes)\\.hpp\"")
string(APPEND TABLES "|\"dist/[a-z]+/algorithms\\.hpp\"")
# Intrinsics and identification of one vendor's processors.
set(VENDOR_HEADERS "<([a-z0-9]*intrin|cpuid|arm_[a-z0-9]+)\\.h>")

set(failures "")
function(fail where words)
  set(failures "${failures}${where}: ${words}\n" PARENT_SCOPE)
endfunction()

# Fails on a match outside the files that `allowed` describes (a regular expression for the path
# below the tree).
function(check_only_in pattern allowed words)
  if(code MATCHES "${pattern}" AND NOT path MATCHES "${allowed}")
    fail("${path}:${number}" "${words}")
  endif()
  set(failures "${failures}" PARENT_SCOPE)
endfunction()

# Within workloads/, a workload includes the frame and its own folder; the frame includes no
# workload.
function(check_workload_include)
  if(NOT path MATCHES "^src/workloads/([a-z]+)/" OR NOT code MATCHES "\"workloads/([a-z]+)/")
    return()
  endif()
  string(REGEX REPLACE "^src/workloads/([a-z]+)/.*" "\\1" mine "${path}")
  string(REGEX REPLACE ".*\"workloads/([a-z]+)/.*" "\\1" other "${code}")
  if(NOT other STREQUAL mine AND NOT other STREQUAL frame)
    fail("${path}:${number}" "workloads/${mine}/ may not include workloads/${other}/")
  endif()
  set(failures "${failures}" PARENT_SCOPE)
endfunction()

function(check_line path layer number code)
  if(code MATCHES "^[ \t]*#[ \t]*include[ \t]*\"([a-z]+)/" AND layer)
    set(other ${CMAKE_MATCH_1})
    if(NOT other STREQUAL layer AND NOT other IN_LIST MAY_${layer})
      fail("${path}:${number}"
        "${layer}/ may not include ${other}/ (it may include: ${MAY_${layer}})")
    endif()
  endif()
  check_workload_include()
  check_only_in("#[ \t]*pragma[ \t]+omp" "^src/(kernels/|machine/fork_join\\.hpp)"
                "OpenMP belongs in kernels/ and machine/fork_join.hpp")
  check_only_in("(^|[^A-Za-z0-9_])MPI_[A-Z]|[<\"]mpi\\.h[>\"]" "^src/(mpi/|c/context\\.cpp)"
                "MPI belongs in mpi/")
  check_only_in("(^|[^A-Za-z0-9_])H5[A-Z]+[a-z][A-Za-z0-9_]*[ ]*\\(|[<\"]hdf5(_hl)?\\.h" "^src/io/"
    "HDF5 belongs in io/")
  check_only_in("(^|[^A-Za-z0-9_:])cuda[A-Z][A-Za-z0-9]*[ ]*\\(|[<\"]cuda[a-z_]*\\.h[>\"]"
    "^src/machine/|\\.cuh?$"
                "CUDA belongs in machine/ and .cu files")
  check_only_in("${VENDOR_HEADERS}" "^src/base/simd/" "headers of a processor belong in base/simd/")
  # The Python package is no command: it binds the kernels of one process, without MPI or files, and
  # in a module of its own what the C API and dist/ do on ranks.
  if(path MATCHES "^apps/python/distributed/")
    check_only_in("\"(scalapack|run|workloads|lab)/" "^$"
      "apps/python/distributed/ may not include more than c/ may")
  elseif(path MATCHES "^apps/python/")
    check_only_in("\"(layout|mpi|dist|io|run|workloads|lab)/" "^$"
      "apps/python/ may not include more than kernels/, machine/ and base/")
  elseif(path MATCHES "^apps/" AND code MATCHES "\"(mpi|dist|kernels)/" AND NOT code MATCHES
    "${TABLES}")
    fail("${path}:${number}"
      "apps/ holds commands: what includes mpi/, dist/ or kernels/ belongs in src/")
  endif()
  if(path MATCHES "^src/workloads/frame/")
    list(JOIN WORKLOADS "|" any)
    check_only_in("\"(${any})\"" "^$" "the frame knows no workload by name")
  endif()
  if(path MATCHES "^src/kernels/")
    check_only_in("#[ \t]*include[ \t]*<(iostream|ostream|sstream|fstream)>" "^$"
      "kernels print nothing")
  endif()
  set(failures "${failures}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.?pp ${ROOT}/src/*.cu ${ROOT}/src/*.cuh
  ${ROOT}/apps/*.?pp)
foreach(path IN LISTS sources)
  set(layer "")
  if(path MATCHES "^src/([a-z]+)/")
    set(layer ${CMAKE_MATCH_1})
    if(NOT layer IN_LIST LAYERS)
      fail(${path}:1 "src/${layer}/ is no layer")
    endif()
  endif()
  # Splits a text into a list of lines, without the characters that are special in lists.
  file(READ ${ROOT}/${path} text)
  string(REGEX REPLACE "[][;\\]" " " text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES "#|MPI_|H5|cuda|mpi\\.h|hdf5" OR path MATCHES "^src/workloads/frame/")
      string(REGEX REPLACE "//.*" "" code "${line}")
      check_line("${path}" "${layer}" ${number} "${code}")
    endif()
  endforeach()
  math(EXPR count "${number} - 1")
  if(count GREATER MOST_LINES)
    fail("${path}:${number}" "${count} lines; ${MOST_LINES} at most: a file has one subject")
  endif()
endforeach()

# Tests and benches compile for every processor, too.
file(GLOB_RECURSE tests RELATIVE ${ROOT} ${ROOT}/tests/*.?pp ${ROOT}/tests/*.c)
foreach(path IN LISTS tests)
  file(STRINGS ${ROOT}/${path} lines REGEX "${VENDOR_HEADERS}")
  if(lines)
    fail("${path}:1" "headers of a processor belong in base/simd/: ${lines}")
  endif()
endforeach()

# Warnings of untried compilers fail no build: TESSERA_ERRORS is empty by default.
file(GLOB_RECURSE lists RELATIVE ${ROOT} ${ROOT}/src/CMakeLists.txt ${ROOT}/apps/CMakeLists.txt
  ${ROOT}/tests/CMakeLists.txt)
foreach(path IN LISTS lists)
  file(STRINGS ${ROOT}/${path} lines REGEX "-Werror")
  if(lines AND NOT path MATCHES "^tests/c/") # what they compile is the test
    fail("${path}:1" "-Werror belongs in TESSERA_ERRORS (TESSERA_WERROR): ${lines}")
  endif()
endforeach()

list(LENGTH sources count)
if(NOT failures STREQUAL "")
  message(FATAL_ERROR "the layers are broken:\n${failures}")
endif()
message("${count} files keep to their layers")
