# The target tessera_headers compiles headers alone (twice in a row: they must guard themselves):
# those that no source includes first, for the others are compiled alone wherever the program is.
# Not part of the default build; a test builds it.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.hpp
     ${PROJECT_SOURCE_DIR}/apps/*.hpp)
list(FILTER headers EXCLUDE REGEX "_avx(2|512)\\.hpp$")  # parts of sources for one instruction set
if(NOT TESSERA_HAVE_CUDA)
  list(FILTER headers EXCLUDE REGEX "/cuda[^/]*\\.hpp$")
endif()
file(GLOB_RECURSE includers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.cpp
     ${PROJECT_SOURCE_DIR}/apps/*.cpp)
if(NOT TESSERA_HAVE_CUDA)
  list(FILTER includers EXCLUDE REGEX "cuda[^/]*\\.cpp$")  # this build does not compile them
endif()
set(first)
foreach(source IN LISTS includers)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${source} include LIMIT_COUNT 1 REGEX "^[ \t]*#")
  if(include MATCHES "^#include \"([^\"]+)\"$")
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND first src/${CMAKE_MATCH_1} apps/${CMAKE_MATCH_1} apps/python/${CMAKE_MATCH_1}
      ${folder}/${CMAKE_MATCH_1})
  endif()
endforeach()
set(sources)
foreach(header IN LISTS headers)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} guard LIMIT_COUNT 1 REGEX "^#pragma once$")
  if(guard AND header IN_LIST first)
    continue()
  endif()
  string(REGEX REPLACE "^(src|apps)/" "" include ${header})
  string(REGEX REPLACE "[/.]" "_" name ${header})
  set(source ${PROJECT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${include}\"\n#include \"${include}\"\n"
    @ONLY)
  list(APPEND sources ${source})
endforeach()
add_library(tessera_headers OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(tessera_headers PRIVATE tessera_run tessera_flags)
target_include_directories(tessera_headers PRIVATE ${PROJECT_SOURCE_DIR}/apps)
target_compile_options(tessera_headers PRIVATE -fsyntax-only)
