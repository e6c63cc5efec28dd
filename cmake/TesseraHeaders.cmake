# The target tessera_headers compiles every header alone (twice in a row: it must guard itself). Not part of the
# default build; a test builds it.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.hpp
     ${PROJECT_SOURCE_DIR}/apps/*.hpp)
list(FILTER headers EXCLUDE REGEX "_avx(2|512)\\.hpp$")  # parts of sources for one instruction set
if(NOT TESSERA_HAVE_CUDA)
  list(FILTER headers EXCLUDE REGEX "/cuda[^/]*\\.hpp$")
endif()
set(sources)
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^(src|apps)/" "" include ${header})
  string(REGEX REPLACE "[/.]" "_" name ${header})
  set(source ${PROJECT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${include}\"\n#include \"${include}\"\n" @ONLY)
  list(APPEND sources ${source})
endforeach()
add_library(tessera_headers OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(tessera_headers PRIVATE tessera_run tessera_flags)
target_include_directories(tessera_headers PRIVATE ${PROJECT_SOURCE_DIR}/apps)
target_compile_options(tessera_headers PRIVATE -fsyntax-only)
