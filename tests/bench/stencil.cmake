# Peers: the box filters of OpenCV (libopencv-imgproc-dev) and Halide 14 (libhalide14-0-dev), if
# installed.
add_executable(bench_stencil stencil.cpp)
target_link_libraries(bench_stencil PRIVATE tessera_flags tessera_kernels CLI11::CLI11
  OpenMP::OpenMP_CXX)
target_include_directories(bench_stencil PRIVATE ${PROJECT_SOURCE_DIR}/tests)

# Individual libraries: Debian's package configuration requires every module.
find_path(TESSERA_OPENCV_INCLUDE NAMES opencv2/imgproc.hpp PATH_SUFFIXES opencv4)
find_library(TESSERA_OPENCV_IMGPROC NAMES opencv_imgproc)
find_library(TESSERA_OPENCV_CORE NAMES opencv_core)
if(TESSERA_OPENCV_INCLUDE AND TESSERA_OPENCV_IMGPROC AND TESSERA_OPENCV_CORE)
  add_library(bench_stencil_opencv STATIC stencil_opencv.cpp)
  target_include_directories(bench_stencil_opencv SYSTEM PRIVATE ${TESSERA_OPENCV_INCLUDE})
  target_link_libraries(bench_stencil_opencv PRIVATE ${TESSERA_OPENCV_IMGPROC}
    ${TESSERA_OPENCV_CORE})
else()
  add_library(bench_stencil_opencv STATIC stencil_no_opencv.cpp)
endif()
target_link_libraries(bench_stencil PRIVATE bench_stencil_opencv)

find_path(TESSERA_HALIDE_INCLUDE NAMES Halide.h PATH_SUFFIXES halide14)
find_library(TESSERA_HALIDE NAMES libHalide14.so libHalide14.so.0 libHalide.so)
find_file(TESSERA_HALIDE_PLUGIN NAMES libautoschedule_mullapudi2016.so
          PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/halide14)
if(TESSERA_HALIDE_INCLUDE AND TESSERA_HALIDE AND TESSERA_HALIDE_PLUGIN)
  add_library(bench_stencil_halide STATIC stencil_halide.cpp)
  target_include_directories(bench_stencil_halide SYSTEM PRIVATE ${TESSERA_HALIDE_INCLUDE})
  target_compile_definitions(bench_stencil_halide PRIVATE
    TESSERA_HALIDE_PLUGIN="${TESSERA_HALIDE_PLUGIN}")
  target_link_libraries(bench_stencil_halide PRIVATE ${TESSERA_HALIDE} fmt::fmt)
else()
  add_library(bench_stencil_halide STATIC stencil_no_halide.cpp)
endif()
target_link_libraries(bench_stencil PRIVATE bench_stencil_halide)
