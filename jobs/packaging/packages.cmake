# Packages of a build, by `cpack`: the program (tessera), the library with its headers
# (libtessera-dev, as RPM tessera-devel), and the Python package (python3-tessera).
# `cmake --workflow --preset package` builds those that this machine has the tools for (dpkg-deb,
# rpmbuild).

# tessera_names(<result> <apt|dnf> <role>): the packages of a role in jobs/packages.txt, separated
# by commas, for the MPI and the HDF5 of this build.
function(tessera_names result manager role)
  set(columns need role apt dnf)
  list(FIND columns ${manager} column)
  set(names)
  file(STRINGS ${PROJECT_SOURCE_DIR}/jobs/packages.txt rows REGEX "^[^# ]+ +${role} ")
  foreach(row IN LISTS rows)
    string(REGEX MATCHALL "[^ ]+" words "${row}")
    list(GET words ${column} name)
    list(APPEND names ${name})
  endforeach()
  if(NOT TESSERA_MPI)
    list(FILTER names INCLUDE REGEX "hwloc|fmt")
  endif()
  if(NOT HDF5_IS_PARALLEL)
    list(TRANSFORM names REPLACE "hdf5-openmpi" hdf5)
  endif()
  if("${MPI_C_LIBRARIES}" MATCHES "libmpich")
    list(TRANSFORM names REPLACE "openmpi-bin" mpich)
    list(TRANSFORM names REPLACE openmpi mpich)
  endif()
  list(JOIN names ", " names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# The developers' address: the packager's (DEBEMAIL), or that of the last commit.
set(address "$ENV{DEBEMAIL}")
if(NOT address)
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} log -1 --format=%ae OUTPUT_VARIABLE address
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(CPACK_PACKAGE_CONTACT "The Tessera developers <${address}>")

set(CPACK_GENERATOR)
find_program(TESSERA_DPKG_DEB dpkg-deb)
find_program(TESSERA_RPMBUILD rpmbuild)
if(TESSERA_DPKG_DEB)
  list(APPEND CPACK_GENERATOR DEB)
endif()
if(TESSERA_RPMBUILD)
  list(APPEND CPACK_GENERATOR RPM)
endif()
if(NOT CPACK_GENERATOR)
  set(CPACK_GENERATOR TGZ)
endif()

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "Distributed products, transposes, stencils and sorts of HDF5 files")
set(CPACK_PACKAGE_VENDOR "The Tessera developers")
set(CPACK_PACKAGE_DESCRIPTION
"Tessera multiplies, transposes and sorts arrays and advances stencils on them,
on MPI ranks with CPU cores or GPUs. It plans memory and messages before it
runs, works in memory or out of core, checks every result, and publishes only
complete, verified files.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL development)
set(library_needs)
if(TESSERA_MPI)
  list(PREPEND CPACK_COMPONENTS_ALL program)
  set(library_needs "tessera (= ${PROJECT_VERSION}), ")
endif()
# For the distribution's Python: a .deb's modules are in dist-packages.
if(TARGET tessera_python AND (TESSERA_PYTHON_FOLDER MATCHES "dist-packages" OR NOT
    TESSERA_DPKG_DEB))
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}
.
This package has the C++20 library behind the program: static libraries,
headers, and files for CMake and pkg-config.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}
.
This package has the module tessera for Python: the same operations on numpy
arrays, on all cores of one process or on the ranks of mpi4py.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tessera)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
tessera_names(runs apt run)
tessera_names(reports apt report)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${runs}, ${reports}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
tessera_names(libraries apt library)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_needs}${libraries}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tessera)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
math(EXPR after "${TESSERA_PYTHON_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${TESSERA_PYTHON_MINOR}), \
python3 (<< 3.${after}), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-mpi4py")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-h5py, python3-pandas")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/python/postinst
  ${CMAKE_CURRENT_LIST_DIR}/python/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/installed.cmake)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT program)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define packager ${CPACK_PACKAGE_CONTACT}")
set(CPACK_RPM_PROGRAM_PACKAGE_NAME tessera)
set(CPACK_RPM_PROGRAM_PACKAGE_GROUP Applications/Engineering)
set(CPACK_RPM_PROGRAM_PACKAGE_DESCRIPTION "${CPACK_COMPONENT_PROGRAM_DESCRIPTION}")
set(CPACK_RPM_PROGRAM_USER_FILELIST "%license /usr/share/doc/tessera/LICENSE")
tessera_names(runs dnf run)
set(CPACK_RPM_PROGRAM_PACKAGE_REQUIRES "${runs}")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME tessera-devel)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_GROUP Development/Libraries)
string(REPLACE "\n.\n" "\n\n" CPACK_RPM_DEVELOPMENT_PACKAGE_DESCRIPTION
  "${CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION}")
set(CPACK_RPM_DEVELOPMENT_USER_FILELIST "%license /usr/share/doc/tessera-devel/LICENSE")
tessera_names(libraries dnf library)
string(REPLACE "(= ${PROJECT_VERSION})" "= ${PROJECT_VERSION}" library_needs "${library_needs}")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "${library_needs}${libraries}")
set(CPACK_RPM_PYTHON_PACKAGE_NAME python3-tessera)
set(CPACK_RPM_PYTHON_PACKAGE_GROUP Development/Libraries)
string(REPLACE "\n.\n" "\n\n" CPACK_RPM_PYTHON_PACKAGE_DESCRIPTION
  "${CPACK_COMPONENT_PYTHON_DESCRIPTION}")
set(CPACK_RPM_PYTHON_USER_FILELIST "%license /usr/share/doc/python3-tessera/LICENSE")
set(CPACK_RPM_PYTHON_PACKAGE_REQUIRES
  "python(abi) = 3.${TESSERA_PYTHON_MINOR}, python3-numpy")
# Python writes bytecode next to the modules, which RPM would leave.
file(CONFIGURE OUTPUT preun CONTENT "rm -rf '/usr/@TESSERA_PYTHON_FOLDER@/tessera/__pycache__'\n"
  @ONLY)
set(CPACK_RPM_PYTHON_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_BINARY_DIR}/preun)
# Folders of the distribution.
get_filename_component(python_folder "${TESSERA_PYTHON_FOLDER}" DIRECTORY)
foreach(folder ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_LIBDIR}/cmake
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig share/man share/man/man1 share/bash-completion
    share/bash-completion/completions share/zsh share/zsh/site-functions share/fish
    share/fish/vendor_completions.d ${python_folder} ${TESSERA_PYTHON_FOLDER})
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/${folder})
endforeach()
include(CPack)
