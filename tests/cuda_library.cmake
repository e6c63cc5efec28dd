# cmake -DNM=<nm> -DLIBRARY=<libtessera_cuda.so> -P cuda_library.cmake: fails if the library has
# kernels of the CPU. It is a copy of all that it calls (src/machine/cuda_library.hpp), and one
# function in a source with a table of kernels brings the kernels; sorts alone merge on the CPU.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} --demangle ${LIBRARY} OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[a-z]+::(baseline|bits256|bits512)::[a-z_]+" found "${symbols}")
list(FILTER found EXCLUDE REGEX "^sort::")
list(REMOVE_DUPLICATES found)
if(found)
  message(FATAL_ERROR "${LIBRARY} has kernels of the CPU: ${found}")
endif()
message("${LIBRARY} has no kernels of the CPU but those of sorts")
