# cmake -DNM=<nm> -DLIBRARY=<library> -DNAMES=<name;...> -P only_exports.cmake: fails unless a
# shared library exports these symbols, all of them and nothing else.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" found "${text}")
list(TRANSFORM found STRIP)
list(SORT found)
list(SORT NAMES)
if(NOT found STREQUAL NAMES)
  message(FATAL_ERROR "exported: ${found}\nexpected: ${NAMES}")
endif()
