# Peers of sort, all optional: libips4o-dev, libhwy-dev (vqsort), libboost-dev, libtbb-dev.
set(peers standard)
find_path(TESSERA_IPS4O ips4o.hpp)
find_path(TESSERA_VQSORT hwy/contrib/sort/vqsort.h)
find_path(TESSERA_BOOST_SORT boost/sort/sort.hpp)
find_package(TBB QUIET)
find_package(Boost QUIET)
if(TESSERA_IPS4O)
  list(APPEND peers ips4o)
endif()
if(TESSERA_VQSORT)
  list(APPEND peers vqsort)
endif()
if(TESSERA_BOOST_SORT)
  list(APPEND peers boost)
endif()
if(TBB_FOUND)
  list(APPEND peers tbb)
endif()

# Generates a source with the list of the peers found.
set(declarations "")
set(calls "")
foreach(peer IN LISTS peers)
  string(APPEND declarations "void add_${peer}(std::vector<Peer>&);\n")
  string(APPEND calls "  add_${peer}(all);\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/sort_peers.cpp CONTENT
"#include \"sort_peers/peers.hpp\"
namespace tessera::bench {
@declarations@std::vector<Peer> peers() {
  std::vector<Peer> all;
@calls@  return all;
}
}  // namespace tessera::bench
" @ONLY)

list(TRANSFORM peers REPLACE "(.+)" "sort_peers/\\1.cpp" OUTPUT_VARIABLE sources)
# Peers are compiled for this processor, without warnings, which their headers cause.
add_library(sort_peers STATIC ${sources} ${CMAKE_CURRENT_BINARY_DIR}/sort_peers.cpp)
target_include_directories(sort_peers PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(sort_peers PRIVATE -O3 -march=native -mcx16 -w)
target_link_libraries(sort_peers PRIVATE OpenMP::OpenMP_CXX Threads::Threads atomic
  $<$<BOOL:${TESSERA_VQSORT}>:hwy_contrib> $<$<BOOL:${TESSERA_VQSORT}>:hwy>
  $<$<BOOL:${TBB_FOUND}>:TBB::tbb>)
add_executable(bench_sort sort.cpp)
target_include_directories(bench_sort PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(bench_sort PRIVATE tessera_flags tessera_dist sort_peers CLI11::CLI11 fmt::fmt
  MPI::MPI_CXX)

# Distributed peers: psort and HykSort of CombBLAS (Debian: libcombblas-dev).
find_path(TESSERA_COMBBLAS psort/psort.h)
find_library(TESSERA_USORT Usortlib)
if(TESSERA_COMBBLAS AND TESSERA_USORT)
  add_library(sort_peers_mpi STATIC sort_peers/distributed.cpp)
  target_include_directories(sort_peers_mpi PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(sort_peers_mpi SYSTEM PRIVATE ${TESSERA_COMBBLAS})
  target_compile_options(sort_peers_mpi PRIVATE -O3 -march=native -w)
  target_compile_definitions(sort_peers_mpi PRIVATE KWAY=4)
  target_link_libraries(sort_peers_mpi PRIVATE MPI::MPI_CXX OpenMP::OpenMP_CXX ${TESSERA_USORT})
  add_executable(bench_sort_mpi sort_mpi.cpp)
  target_include_directories(bench_sort_mpi PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(bench_sort_mpi PRIVATE tessera_flags tessera_dist sort_peers_mpi fmt::fmt
    MPI::MPI_CXX)
  add_dependencies(bench_sort bench_sort_mpi)
else()
  message(STATUS "bench_sort_mpi needs psort and HykSort: apt-get install libcombblas-dev")
endif()
