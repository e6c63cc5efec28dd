#pragma once
// All that needs CUDA is in a library that is loaded when it is first asked for,
// libtessera_cuda.so: one program serves nodes with and without GPUs. The library and the program
// are of one build; the library has its own copy of the code of base/, machine/ and kernels/ that
// it calls, and exports tessera_cuda_library() alone.

#include <string>

#include "machine/driver.hpp"
#include "machine/occupancy.hpp"
#include "machine/shared_state.hpp"

namespace tessera::inline v1 {

struct CudaKernels;  // kernels/cuda_kernels.hpp

namespace machine {

/// The functions of the library.
struct CudaLibrary {
  const char* build;  ///< interface_build() of the library
  void (*adopt)(SharedState& of_program);
  device::Driver* driver;
  std::string (*version)();  ///< of CUDA
  Gpus (*look)();
  void (*use_gpu)(int local_rank);
  index_t (*free_memory)();
  Occupancy (*occupancy)(const DeviceFunction&);
  const CudaKernels* kernels;
};

struct FoundLibrary {
  const CudaLibrary* library = nullptr;
  std::string missing;  ///< why `library` is nullptr
};

/// Returns the library, loaded by the first call: the file that TESSERA_CUDA_LIBRARY names, or
/// libtessera_cuda.so where the system's loader finds it, in the prefix of the running program, or
/// where this build installs it. It needs neither a driver nor a GPU. Never throws.
[[nodiscard]] const FoundLibrary& find_cuda_library();

/// Returns the version and the compiler of this build: no other library is used.
[[nodiscard]] const char* interface_build();

}  // namespace machine
}  // namespace tessera::inline v1

/// The entry of the library; nullptr unless the program links the library's objects.
extern "C" [[gnu::visibility("default"), gnu::weak]] const tessera::machine::CudaLibrary*
tessera_cuda_library();
