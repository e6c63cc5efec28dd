# Peers: the box filter of OpenCV (libopencv-imgproc-dev) and of Halide 14 (libhalide14-0-dev), where installed.
add_executable(bench_stencil stencil.cpp)
target_link_libraries(bench_stencil PRIVATE tessera_flags tessera_kernels OpenMP::OpenMP_CXX)
target_include_directories(bench_stencil PRIVATE ${PROJECT_SOURCE_DIR}/tests)

find_package(OpenCV QUIET COMPONENTS core imgproc)
if(OpenCV_FOUND)
  add_library(bench_stencil_opencv STATIC stencil_opencv.cpp)
  target_include_directories(bench_stencil_opencv SYSTEM PRIVATE ${OpenCV_INCLUDE_DIRS})
  target_link_libraries(bench_stencil_opencv PRIVATE ${OpenCV_LIBS})
else()
  add_library(bench_stencil_opencv STATIC stencil_no_opencv.cpp)
endif()
target_link_libraries(bench_stencil PRIVATE bench_stencil_opencv)
