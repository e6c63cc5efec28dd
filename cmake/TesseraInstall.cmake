# cmake --install: the libraries with their headers, what lets others find them
# (find_package(Tessera) gives tessera::tessera, pkg-config gives tessera), and with MPI the
# program, its manual and jobs.
include(CMakePackageConfigHelpers)

# Two components, packages of their own (jobs/packaging/packages.cmake): what developers of other
# programs need, and by default the program.
set(development COMPONENT development)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(NOT TESSERA_MPI)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
endif()

get_property(layers GLOBAL PROPERTY TESSERA_LAYERS)
add_library(tessera_library INTERFACE)
set_target_properties(tessera_library PROPERTIES EXPORT_NAME tessera)
target_link_libraries(tessera_library INTERFACE ${layers})
add_library(tessera::tessera ALIAS tessera_library)

install(TARGETS tessera_library ${layers} EXPORT TesseraTargets ARCHIVE DESTINATION
  ${CMAKE_INSTALL_LIBDIR} ${development})
if(TESSERA_MPI)
  install(TARGETS tessera_scalapack EXPORT TesseraTargets LIBRARY DESTINATION
    ${CMAKE_INSTALL_LIBDIR}/tessera/scalapack ${development})
  install(FILES src/scalapack/tessera_scalapack.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera ${development})
endif()
if(TESSERA_HAVE_CUDA)
  install(TARGETS tessera_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endif()
set(public tessera.hpp)
if(TARGET tessera_shared)
  install(TARGETS tessera_shared EXPORT TesseraTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/c ${development})
  list(APPEND public tessera.h)
  install(FILES ${TESSERA_FORTRAN_MODULE} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera
    ${development})
  install(DIRECTORY src/c/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera ${development})
endif()
list(TRANSFORM layers REPLACE "^tessera_" "" OUTPUT_VARIABLE folders)
install(CODE "set(TESSERA_HEADERS \"${PROJECT_SOURCE_DIR}/src\")
  set(TESSERA_PUBLIC \"${public}\")
  set(TESSERA_LAYERS \"${folders}\")
  set(TESSERA_STAGE \"${PROJECT_BINARY_DIR}/include/tessera\")
  set(TESSERA_INCLUDE \"${CMAKE_INSTALL_INCLUDEDIR}\")" ${development})
install(SCRIPT cmake/TesseraInstallHeaders.cmake ${development})
# In the folders of the tree, so that the links of the pages hold.
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES src/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/src)
install(DIRECTORY src/decisions DESTINATION ${CMAKE_INSTALL_DOCDIR}/src)
if(TESSERA_MPI)
  install(TARGETS tessera tessera_examine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY apps/report configs DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera
          FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "__pycache__" EXCLUDE)
  install(FILES jobs/env.sh jobs/launch.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/jobs)
  install(DIRECTORY apps/manual DESTINATION ${CMAKE_INSTALL_DOCDIR}/apps)
endif()
if(TARGET tessera_reference)
  set(reference ${PROJECT_BINARY_DIR}/apps/reference)
  install(DIRECTORY ${reference}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES apps/examine/tessera-examine.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(DIRECTORY ${reference}/reference DESTINATION ${CMAKE_INSTALL_DOCDIR}/apps/manual)
  install(FILES ${reference}/bash/tessera
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${reference}/zsh/_tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${reference}/fish/tessera.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
install(EXPORT TesseraTargets NAMESPACE tessera:: DESTINATION ${package} ${development})
set(TESSERA_HDF5_INCLUDES ${HDF5_C_INCLUDE_DIRS})
set(TESSERA_HDF5_LIBRARIES ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TesseraConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY
  SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package} ${development})

# A static library's needs by name or path: later ones serve the earlier ones.
list(REVERSE layers)
list(TRANSFORM layers PREPEND -l OUTPUT_VARIABLE libraries)
list(APPEND libraries ${TESSERA_HDF5_LIBRARIES} ${MPI_CXX_LIBRARIES} ${OpenMP_CXX_FLAGS} -pthread)
set(TESSERA_PC_FLAGS)
if(TESSERA_MPI)
  set(TESSERA_PC_FLAGS -DOMPI_SKIP_MPICXX)
endif()
if(LIBDEFLATE_FOUND)
  list(APPEND libraries ${LIBDEFLATE_LINK_LIBRARIES})
endif()
set(includes ${MPI_CXX_INCLUDE_DIRS} ${HDF5_C_INCLUDE_DIRS})
list(REMOVE_DUPLICATES includes)
list(TRANSFORM includes PREPEND -I)
list(JOIN libraries " " TESSERA_PC_LIBRARIES)
list(JOIN includes " " TESSERA_PC_INCLUDES)
file(RELATIVE_PATH TESSERA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tessera.pc.in ${PROJECT_BINARY_DIR}/tessera.pc @ONLY)
set(descriptions ${PROJECT_BINARY_DIR}/tessera.pc)
if(TARGET tessera_shared)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tessera-c.pc.in ${PROJECT_BINARY_DIR}/tessera-c.pc @ONLY)
  list(APPEND descriptions ${PROJECT_BINARY_DIR}/tessera-c.pc)
endif()
install(FILES ${descriptions} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${development})

if(PROJECT_IS_TOP_LEVEL)
  include(${PROJECT_SOURCE_DIR}/jobs/packaging/packages.cmake)
endif()
