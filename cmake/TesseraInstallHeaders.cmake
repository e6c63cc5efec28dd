# Run by `cmake --install`: installs the public headers, and those that they include, below
# <prefix>/include/tessera. They include each other as "tessera/base/error.hpp", so that a program's
# own base/error.hpp is another file.
#   TESSERA_HEADERS   folder of the sources
#   TESSERA_PUBLIC    public headers in it: the umbrellas
#   TESSERA_LAYERS    folders of the layers that are installed
#   TESSERA_STAGE     folder for the headers as they are installed
#   TESSERA_INCLUDE   where they go, relative to the prefix
cmake_policy(VERSION 3.25)
list(JOIN TESSERA_LAYERS "|" folders)
set(ours "\"((${folders})/[^\"]+|[a-z_]+\\.hpp)\"")

set(headers)
set(left ${TESSERA_PUBLIC})
while(left)
  list(POP_FRONT left header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers ${header})
  file(STRINGS ${TESSERA_HEADERS}/${header} includes REGEX "^#include ${ours}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" include "${include}")
    if(include MATCHES "/" OR include IN_LIST TESSERA_PUBLIC)
      list(APPEND left ${include})
    endif()
  endforeach()
endwhile()

file(REMOVE_RECURSE ${TESSERA_STAGE})
foreach(header IN LISTS headers)
  file(READ ${TESSERA_HEADERS}/${header} text)
  string(REGEX REPLACE "(#include |__has_include\\()${ours}" "\\1\"tessera/\\2\"" text "${text}")
  file(WRITE ${TESSERA_STAGE}/${header} "${text}")
endforeach()
file(INSTALL DESTINATION ${CMAKE_INSTALL_PREFIX}/${TESSERA_INCLUDE} TYPE DIRECTORY
  FILES ${TESSERA_STAGE})
