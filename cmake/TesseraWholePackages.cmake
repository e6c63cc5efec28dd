# Packages whose libraries are there.

# Stops where an imported target's library is missing, as where a development package is installed
# without its library; the build would stop without naming the package.
function(tessera_require_libraries)
  foreach(target IN LISTS ARGN)
    get_target_property(library ${target} LOCATION)
    if(library AND NOT EXISTS ${library})
      message(FATAL_ERROR "${target} was found, but its library is missing (${library}): install "
        "the library of the same version next to its development files")
    endif()
  endforeach()
endfunction()
