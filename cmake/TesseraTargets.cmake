# Two helpers: a layer of the library, and a source that is compiled for several instruction sets.

# Other compilers warn of other things, also wrongly: g++ 14 of a copied vector (-Warray-bounds).
set(TESSERA_ERRORS)
if(TESSERA_WERROR)
  set(TESSERA_ERRORS -Werror)
endif()
add_library(tessera_flags INTERFACE)
target_compile_options(tessera_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wswitch-enum
  $<$<NOT:$<BOOL:${TESSERA_TOGETHER}>>:-Wshadow> ${TESSERA_ERRORS} -ffp-contract=off>)
# g++ 12 warns of overlapping copies inside std::string where there are none (GCC bug 105651).
target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# CMake 3.25.1 silently drops CMAKE_CUDA_STANDARD 20 with nvcc 13.
target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20
  --extended-lambda --diag-suppress=554 -Wno-deprecated-gpu-targets -Xcompiler=-Wall,-Wextra>)
if(TESSERA_WERROR)
  target_compile_options(tessera_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
# Code for the device takes a seventh of its size; the driver unpacks what it loads.
if(TESSERA_HAVE_CUDA)
  include(CheckCompilerFlag)
  check_compiler_flag(CUDA --compress-mode=size TESSERA_NVCC_COMPRESSES)
  if(TESSERA_NVCC_COMPRESSES)
    target_compile_options(tessera_flags INTERFACE
      $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
  endif()
endif()
if(TESSERA_COVERAGE)
  target_compile_options(tessera_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--coverage
    -fprofile-update=atomic>)
  target_link_options(tessera_flags INTERFACE --coverage)
endif()

# tessera_layer(<name> [SOURCES <file>...] [LINK <target>...] [USES <target>...]): the static
# library tessera_<name>. USES: headers that its sources include and its own headers do not; who
# links the library needs them no more.
function(tessera_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;LINK;USES" ${ARGN})
  add_library(tessera_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(tessera_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tessera_${name} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
  target_link_libraries(tessera_${name} PUBLIC ${LAYER_LINK} PRIVATE
    $<BUILD_INTERFACE:tessera_flags>)
  foreach(used IN LISTS LAYER_USES)
    target_link_libraries(tessera_${name} PRIVATE $<BUILD_INTERFACE:${used}>)
  endforeach()
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY TESSERA_LAYERS tessera_${name})
endfunction()

# tessera_compile_together(<target>): with TESSERA_TOGETHER several sources are one compilation,
# which takes half the time of each alone. The names in anonymous namespaces of a target differ.
function(tessera_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TESSERA_TOGETHER}
    UNITY_BUILD_BATCH_SIZE 8)
  if(TESSERA_TOGETHER) # classes with members of such a namespace are no longer the main file's
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# tessera_compile_small(<target>): in releases, for code that waits for the user, files or messages;
# loops over data belong elsewhere.
function(tessera_compile_small target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
endfunction()

# tessera_isa_source(<target> <file>): compiles the file once for each instruction set, with
# TESSERA_ISA naming the namespace (baseline, bits256, bits512: src/machine/isa.hpp) that it must
# put its functions in. Such a file must not instantiate inline functions or templates of others:
# the linker keeps one copy of those, perhaps that of AVX-512 (tests/isa_symbols.cmake checks it).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TESSERA_ISA_FLAGS_bits256 -mavx2 -mfma -mbmi2 -mf16c)
  set(TESSERA_ISA_FLAGS_bits512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mfma -mbmi2
    -mf16c -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(TESSERA_ISA_FLAGS_bits256 -march=armv8.2-a+sve -msve-vector-bits=256)
  set(TESSERA_ISA_FLAGS_bits512 -march=armv8.2-a+sve -msve-vector-bits=512)
endif()
function(tessera_isa_source target file)
  set(sets baseline)
  if(DEFINED TESSERA_ISA_FLAGS_bits512)
    list(APPEND sets bits256 bits512)
  endif()
  cmake_path(GET file STEM stem)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE source)
  foreach(isa IN LISTS sets)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${isa}.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#define TESSERA_ISA ${isa}\n#include \"${source}\"\n"
      @ONLY)
    set_source_files_properties(${wrapper} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS
      "${TESSERA_ISA_FLAGS_${isa}}" SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${wrapper})
  endforeach()
  target_compile_definitions(${target} PRIVATE
    $<$<STREQUAL:${sets},baseline>:TESSERA_ONLY_BASELINE>)
endfunction()

# tessera_cuda_library(): libtessera_cuda.so of the objects in tessera_cuda_objects, which the
# program loads at run time (src/machine/cuda_library.hpp). It holds a copy of all that it calls and
# exports its entry alone.
function(tessera_cuda_library)
  target_link_libraries(tessera_cuda_objects PUBLIC CUDA::cudart_static
    PRIVATE tessera_kernels tessera_flags)
  set_target_properties(tessera_cuda_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set(exports ${PROJECT_BINARY_DIR}/tessera_cuda.map)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: tessera_cuda_library; local: *; };\n" @ONLY)
  add_library(tessera_cuda MODULE $<TARGET_OBJECTS:tessera_cuda_objects>)
  target_link_libraries(tessera_cuda PRIVATE tessera_kernels CUDA::cudart_static)
  target_link_options(tessera_cuda PRIVATE LINKER:--version-script=${exports})
  set_target_properties(tessera_cuda PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()
