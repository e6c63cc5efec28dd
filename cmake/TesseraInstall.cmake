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
set(public tessera.hpp matmul.hpp transpose.hpp stencil.hpp sort.hpp)
if(TESSERA_MPI)
  list(APPEND public relayout.hpp mpi.hpp io.hpp)
endif()
if(TARGET tessera_shared)
  install(TARGETS tessera_shared EXPORT TesseraTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/c ${development})
  list(APPEND public tessera.h tessera_plans.h)
  install(FILES ${TESSERA_FORTRAN_MODULE} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera
    ${development})
  install(DIRECTORY src/c/examples apps/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera
    ${development})
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
  install(TARGETS tessera_sampler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/analyse)
  if(TARGET tessera_gpu_sampler)
    install(TARGETS tessera_gpu_sampler
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/analyse)
  endif()
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
# What find_package(Tessera COMPONENTS ...) gives, and why not the others.
set(TESSERA_COMPONENTS kernels)
set(TESSERA_WHY_NOT)
foreach(component dist io scalapack c)
  if(TESSERA_MPI)
    list(APPEND TESSERA_COMPONENTS ${component})
  else()
    string(APPEND TESSERA_WHY_NOT
      "set(tessera_why_not_${component} \"this build is without MPI (TESSERA_MPI=OFF)\")\n")
  endif()
endforeach()
if(TESSERA_HAVE_CUDA)
  list(APPEND TESSERA_COMPONENTS cuda)
elseif(TESSERA_CUDA)
  set(without_cuda "nvcc was not found when it was built")
else()
  set(without_cuda "this build is without CUDA (TESSERA_CUDA=OFF)")
endif()
if(NOT TESSERA_HAVE_CUDA)
  string(APPEND TESSERA_WHY_NOT "set(tessera_why_not_cuda \"${without_cuda}\")\n")
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TesseraConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY
  SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package} ${development})

# Descriptions for pkg-config of all libraries, and of those of the kernels and of dist/. A static
# library's needs by name or path: later ones serve the earlier ones.
file(RELATIVE_PATH TESSERA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(tessera_describe TESSERA_PC_NAME)
  cmake_parse_arguments(PC "" "" "LAYERS;NEEDS;INCLUDES" ${ARGN})
  list(REVERSE PC_LAYERS)
  list(TRANSFORM PC_LAYERS PREPEND -ltessera_)
  list(JOIN PC_LAYERS " " layers)
  list(JOIN PC_NEEDS " " needs)
  set(TESSERA_PC_LIBRARIES "${layers} ${needs} ${OpenMP_CXX_FLAGS} -pthread")
  list(REMOVE_DUPLICATES PC_INCLUDES)
  list(TRANSFORM PC_INCLUDES PREPEND -I)
  list(JOIN PC_INCLUDES " " TESSERA_PC_FLAGS)
  if(PC_INCLUDES)
    string(PREPEND TESSERA_PC_FLAGS "-DOMPI_SKIP_MPICXX ")
  endif()
  set(file ${PROJECT_BINARY_DIR}/${TESSERA_PC_NAME}.pc)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tessera.pc.in ${file} @ONLY)
  set(descriptions ${descriptions} ${file} PARENT_SCOPE)
endfunction()
set(descriptions)
set(needs ${TESSERA_HDF5_LIBRARIES} ${MPI_CXX_LIBRARIES})
if(LIBDEFLATE_FOUND)
  list(APPEND needs ${LIBDEFLATE_LINK_LIBRARIES})
endif()
tessera_describe(tessera LAYERS ${folders} NEEDS ${needs}
  INCLUDES ${MPI_CXX_INCLUDE_DIRS} ${HDF5_C_INCLUDE_DIRS})
tessera_describe(tessera-kernels LAYERS base machine kernels)
if(TESSERA_MPI)
  tessera_describe(tessera-dist LAYERS base layout machine mpi kernels dist
    NEEDS ${MPI_CXX_LIBRARIES} INCLUDES ${MPI_CXX_INCLUDE_DIRS})
endif()
if(TARGET tessera_shared)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tessera-c.pc.in ${PROJECT_BINARY_DIR}/tessera-c.pc @ONLY)
  list(APPEND descriptions ${PROJECT_BINARY_DIR}/tessera-c.pc)
endif()
install(FILES ${descriptions} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${development})

if(PROJECT_IS_TOP_LEVEL)
  include(${PROJECT_SOURCE_DIR}/jobs/packaging/packages.cmake)
endif()
