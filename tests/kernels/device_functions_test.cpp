// Functions of `tessera list --occupancy`: every device kernel of every workload has a row, and
// every row has a kernel. The driver's figures are checked if there is a device.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernels/matmul/cuda.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/stencil/cuda.hpp"
#include "kernels/transpose/cuda.hpp"
#include "machine/gpu.hpp"

namespace tessera {
namespace {

struct Workload {
  const char* name;
  std::vector<VariantInfo> variants;
  std::vector<machine::DeviceFunction> functions;
  std::set<std::string> without;       ///< variants that launch no kernel of Tessera
  std::set<std::string> helpers = {};  ///< kernels shared by all variants
};

std::vector<Workload> workloads() {
  return {
      {"matmul", infos(matmul::variants()), matmul::device_functions(), {"cublas"}},
      {"transpose", infos(transpose::variants()), transpose::device_functions(), {}},
      {"stencil", infos(stencil::variants()), stencil::device_functions(), {}, {"halos"}},
      {"sort", infos(sort::variants()), sort::device_functions(), {}},
      {"memory",
       infos(memory::device_probes()),
       memory::device_functions(),
       {"cuda_copy_engine", "cuda_pageable_to_device", "cuda_pinned_to_device",
        "cuda_pageable_from_device", "cuda_pinned_from_device", "cuda_managed_from_device",
        "cuda_peer_to_peer", "cuda_empty"}},
  };
}

class DeviceFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!machine::gpus().built) GTEST_SKIP() << machine::gpus().reason;
  }
};

TEST_F(DeviceFunctions, ThereIsOneForEveryDeviceVariant) {
  for (const Workload& workload : workloads()) {
    SCOPED_TRACE(workload.name);
    std::set<std::string> launched;
    for (const machine::DeviceFunction& f : workload.functions) launched.insert(f.kernel);
    for (const VariantInfo& variant : workload.variants) {
      if (variant.space != Space::device) continue;
      const std::string name(variant.name);
      EXPECT_NE(launched.contains(name), workload.without.contains(name)) << name;
      launched.erase(name);
    }
    // Ladder steps that are not transposes and halo kernels have rows, too.
    for (const transpose::LadderRow& step : transpose::ladder()) launched.erase(step.name);
    for (const std::string& helper : workload.helpers)
      EXPECT_EQ(launched.erase(helper), 1U) << helper;
    EXPECT_TRUE(launched.empty()) << *launched.begin() << " is no variant";
  }
}

TEST_F(DeviceFunctions, HaveWhatALaunchNeedsAndNamesOfTheirOwn) {
  for (const Workload& workload : workloads()) {
    std::set<std::string> names;
    for (const machine::DeviceFunction& f : workload.functions) {
      SCOPED_TRACE(std::string(workload.name) + ", " + f.kernel + ": " + f.of);
      EXPECT_NE(f.function, nullptr);
      EXPECT_GT(f.threads, 0);
      EXPECT_LE(f.threads, 1024);
      EXPECT_GE(f.shared_bytes, 0);
      EXPECT_LE(f.shared_bytes, index_t{227} << 10);
      EXPECT_TRUE(names.insert(f.kernel + ": " + f.of).second);
    }
  }
}

TEST_F(DeviceFunctions, RunOnTheDeviceThatIsThere) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << machine::gpus().reason;
  machine::use_gpu(0);
  const machine::Gpu& gpu = machine::gpus().devices.front();
  for (const Workload& workload : workloads()) {
    for (const machine::DeviceFunction& f : workload.functions) {
      SCOPED_TRACE(std::string(workload.name) + ", " + f.kernel + ": " + f.of);
      const machine::Occupancy found = machine::occupancy(f);
      EXPECT_GT(found.registers, 0);
      if (found.shared_bytes > gpu.shared_bytes - gpu.reserved_bytes) {  // of larger devices
        EXPECT_EQ(found.blocks, 0);
        EXPECT_EQ(found.limit, "shared memory");
        continue;
      }
      EXPECT_GT(found.blocks, 0);
      EXPECT_LE(found.warps * 32, gpu.threads);
      EXPECT_FALSE(found.limit.empty());
    }
  }
}

}  // namespace
}  // namespace tessera
