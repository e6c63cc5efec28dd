# Brings what `cmake --install` wrote for a .deb or .rpm into the form that distributions require:
# compressed manual pages, the license; for Debian also a change log and its folder for zsh. Run by
# cpack before it builds the packages.
if(NOT CPACK_GENERATOR MATCHES "^(DEB|RPM)$")
  return()
endif()
find_program(GZIP gzip REQUIRED)
find_program(DATE date REQUIRED)

function(compress)
  if(ARGN)
    execute_process(COMMAND ${GZIP} --best --no-name ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

function(follow_debian share folder)
  file(REMOVE ${share}/doc/tessera/LICENSE)
  file(COPY_FILE ${CPACK_RESOURCE_FILE_LICENSE} ${folder}/copyright)
  execute_process(COMMAND ${DATE} -R OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(WRITE ${folder}/changelog "tessera (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * Version ${CPACK_PACKAGE_VERSION}.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  compress(${folder}/changelog)
  if(EXISTS ${share}/zsh/site-functions)
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  endif()
endfunction()

string(REGEX REPLACE "^DEB$" DEBIAN prefix ${CPACK_GENERATOR})
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(folder ${share}/doc/${CPACK_${prefix}_${upper}_PACKAGE_NAME})
  file(GLOB pages ${share}/man/man1/*.1)
  compress(${pages})
  file(MAKE_DIRECTORY ${folder})
  if(CPACK_GENERATOR STREQUAL DEB)
    follow_debian(${share} ${folder})
  else()
    file(COPY_FILE ${CPACK_RESOURCE_FILE_LICENSE} ${folder}/LICENSE)
  endif()
endforeach()
