# cmake -DNM=<nm> -DOBJECTS=<file with one object a line> -P isa_symbols.cmake: checks that the
# objects of tessera_isa_source define weak symbols in their own namespace only. The linker keeps
# one of several equal weak symbols, possibly the copy that requires AVX-512, which crashes
# unrelated functions on machines without it.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${OBJECTS} objects)
set(failures "")
set(count 0)
foreach(object IN LISTS objects)
  if(NOT object MATCHES "_(baseline|bits256|bits512|avx512)\\.cpp\\.o$")
    continue()
  endif()
  set(isa ${CMAKE_MATCH_1})
  math(EXPR count "${count} + 1")
  execute_process(COMMAND ${NM} -C ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][;]" " " symbols "${symbols}")
  string(REPLACE "\n" ";" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    # Defined weak functions (W), objects (V) and unique ones (u). DW.ref.* are pointers, not code;
    # names with __ belong to sanitizers and coverage.
    if(symbol MATCHES " [WVu] (.*)" AND NOT CMAKE_MATCH_1 MATCHES "(^|::)${isa}::|^DW\\.ref\\.|^__")
      string(APPEND failures "${object}: ${symbol}\n")
    endif()
  endforeach()
endforeach()
if(NOT failures STREQUAL "")
  message(FATAL_ERROR "weak symbols outside their instruction set's namespace:\n${failures}")
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "no object of an instruction set among ${OBJECTS}")
endif()
message("${count} objects keep their symbols to themselves")
