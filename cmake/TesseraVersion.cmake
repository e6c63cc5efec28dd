# Sets TESSERA_VERSION to that of src/base/version.hpp.
set(TESSERA_VERSION)
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../src/base/version.hpp line LIMIT_COUNT 1
    REGEX "^#define TESSERA_VERSION_${part} ")
  if(NOT line MATCHES " ([0-9]+)$")
    message(FATAL_ERROR "src/base/version.hpp does not define TESSERA_VERSION_${part}")
  endif()
  list(APPEND TESSERA_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN TESSERA_VERSION "." TESSERA_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/../src/base/version.hpp)
