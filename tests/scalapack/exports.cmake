# cmake -DNM=<nm> -DLIBRARY=<libtessera_scalapack.so> -P exports.cmake: fails unless the library
# exports its entries, all of them and nothing else: any other symbol would replace one of the
# program.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" found "${text}")
set(expected pstran_ pdtran_ pctranu_ pztranu_ pctranc_ pztranc_)
foreach(type s d c z i)
  list(APPEND expected p${type}gemr2d_ Cp${type}gemr2d)
  if(NOT type STREQUAL i)
    list(APPEND expected p${type}gemm_)
  endif()
endforeach()
list(TRANSFORM found STRIP)
list(SORT found)
list(SORT expected)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "exported: ${found}\nexpected: ${expected}")
endif()
