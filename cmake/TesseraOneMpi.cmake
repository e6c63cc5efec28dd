# Compares the MPI library of HDF5 with that of Tessera.

# Sets <result> to the MPI libraries that dynamic entries of the kind (SONAME, NEEDED) name in the
# libraries; these are files or targets, and static ones name none.
function(tessera_mpi_names result kind)
  set(names)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      get_target_property(library ${library} LOCATION)
    endif()
    execute_process(COMMAND ${CMAKE_READELF} --dynamic --wide ${library} OUTPUT_VARIABLE entries
      ERROR_QUIET)
    string(REGEX MATCHALL "\\(${kind}\\)[^\n]*\\[libmpi(ch)?\\.so[.0-9]*\\]" lines "${entries}")
    list(TRANSFORM lines REPLACE ".*\\[(.*)\\]" "\\1")
    list(APPEND names ${lines})
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# Stops where HDF5 needs another MPI library than Tessera: a process that loads both dies in
# MPI_Init. Passes where one of them is unknown.
function(tessera_require_one_mpi)
  if(NOT CMAKE_READELF)
    return()
  endif()
  tessera_mpi_names(of_hdf5 NEEDED ${HDF5_C_LIBRARIES})
  tessera_mpi_names(of_tessera SONAME ${MPI_C_LIBRARIES})
  foreach(name IN LISTS of_hdf5)
    if(of_tessera AND NOT name IN_LIST of_tessera)
      message(FATAL_ERROR "HDF5 (${HDF5_C_LIBRARIES}) needs ${name}, but the MPI found is "
        "${of_tessera} (${MPI_C_LIBRARIES}): set HDF5_ROOT to an HDF5 of this MPI, or MPI_HOME to "
        "the MPI of this HDF5, or TESSERA_HDF5_PARALLEL=OFF for an HDF5 without MPI")
    endif()
  endforeach()
endfunction()
