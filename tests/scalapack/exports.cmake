# cmake -DNM=<nm> -DREADELF=<readelf> -DLIBRARY=<libtessera_scalapack.so> -P exports.cmake: fails
# unless the library exports the entries of exported.txt, all of them and nothing else (any other
# symbol would replace one of the program), and calls none of them by its name, which may be
# ScaLAPACK's.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" found "${text}")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/exported.txt expected)
list(TRANSFORM found STRIP)
list(SORT found)
list(SORT expected)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "exported: ${found}\nexpected: ${expected}")
endif()
execute_process(COMMAND ${READELF} -rW ${LIBRARY} OUTPUT_VARIABLE relocations
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT relocations MATCHES "JUMP_SLO")
  message(FATAL_ERROR "no calls among the relocations of ${LIBRARY}")
endif()
foreach(entry IN LISTS expected)
  if(relocations MATCHES " ${entry}[ \n]")
    message(FATAL_ERROR "${entry} is called by its name")
  endif()
endforeach()
