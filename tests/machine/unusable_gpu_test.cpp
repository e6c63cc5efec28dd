// A library of CUDA kernels without code for the only GPU: it is not used, and the reason says why.
// The library is this program, with the emulated driver.

#include <gtest/gtest.h>

#include "machine/cuda_library.hpp"
#include "machine/gpu_code.hpp"

namespace tessera::machine {
namespace {

constexpr auto compiled = "80-real 90a-real 90-virtual";

Gpu old_gpu() {
  Gpu gpu;
  gpu.name = "Tesla T4";
  gpu.major = 7;
  gpu.minor = 5;
  return gpu;
}

Gpus look() {
  Gpus gpus;
  gpus.built = true;
  if (!has_code(compiled, old_gpu().major, old_gpu().minor))
    gpus.reason = gpus.unusable = without_code(compiled, old_gpu());
  else
    gpus.devices.push_back(old_gpu());
  return gpus;
}

void use(int) { ADD_FAILURE() << "there is no device to use"; }
index_t free_memory() {
  ADD_FAILURE() << "there is no device with memory";
  return 1;
}

TEST(UnusableGpu, IsNotUsedAndNamedInTheReason) {
  EXPECT_TRUE(gpus().devices.empty());
  EXPECT_NE(gpus().reason.find("no code for Tesla T4, compute capability 7.5"), std::string::npos);
  EXPECT_NE(gpus().reason.find("75-real"), std::string::npos);
  use_gpu(0);
  EXPECT_EQ(free_gpu_memory(), 0);
  EXPECT_EQ(cuda_version(), "13.0");
}

}  // namespace
}  // namespace tessera::machine

extern "C" const tessera::machine::CudaLibrary* tessera_cuda_library() {
  using namespace tessera::machine;
  static const CudaLibrary library{.build = interface_build(),
                                   .adopt = [](SharedState&) {},
                                   .driver = &device::emulated_driver(),
                                   .version = [] { return std::string("13.0"); },
                                   .look = look,
                                   .use_gpu = use,
                                   .free_memory = free_memory,
                                   .occupancy = nullptr,
                                   .kernels = nullptr};
  return &library;
}
