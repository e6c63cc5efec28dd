# Finding what Tessera needs: all that is missing is named at once, in the words of
# jobs/packages.txt.

# tessera_find(<need> <package> [<argument>...]): find_package(<package> <argument>...)
macro(tessera_find need package)
  find_package(${package} ${ARGN})
  if(NOT ${package}_FOUND)
    list(APPEND tessera_lacks ${need})
  endif()
endmacro()

# Stops if anything was not found; jobs/setup.sh reads the list.
function(tessera_require_needs)
  if(tessera_lacks)
    list(JOIN tessera_lacks " " lacks)
    message(FATAL_ERROR " Packages were not found: ${lacks}\n"
      "jobs/packages.txt has their names in apt, dnf, Spack and conda; CMAKE_PREFIX_PATH, "
      "HDF5_ROOT and MPI_HOME name the folders of what is installed elsewhere")
  endif()
endfunction()

# tessera_choose_mpi(<need>...): sets TESSERA_MPI to ON, or to OFF if more is missing than these
# needs, which are those of the kernels.
function(tessera_choose_mpi)
  set(missing ${tessera_lacks})
  list(REMOVE_ITEM missing ${ARGN} "")
  if(NOT missing)
    set(TESSERA_MPI ON PARENT_SCOPE)
    return()
  endif()
  list(JOIN missing " " words)
  message(STATUS "Tessera: MPI OFF: not found: ${words} (names in jobs/packages.txt)")
  set(TESSERA_MPI OFF PARENT_SCOPE)
  set(tessera_lacks ${ARGN} PARENT_SCOPE)
endfunction()
