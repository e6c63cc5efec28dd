// Blocks that a multiprocessor holds, without a device: known answers, and the vendor's own
// arithmetic (cuda_occupancy.h) where its header is there.

#include "machine/residency.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <random>

#include "base/error.hpp"

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#endif

namespace tessera::machine {
namespace {

constexpr index_t kib = 1024;

Residency on(std::string_view version, const BlockShape& block) {
  return residency(compute_capability(version).multiprocessor, block);
}

TEST(Residency, IsThatOfTheOccupancyCalculator) {
  // Fermi: 20 registers fill 48 warps, 21 do not (allocated to warps in units of 64).
  EXPECT_EQ(on("2.0", {256, 20, 0}).blocks, 6);
  EXPECT_EQ(on("2.0", {256, 20, 0}).limit, "warps, registers");
  EXPECT_EQ(on("2.0", {256, 21, 0}).blocks, 5);
  EXPECT_EQ(on("2.0", {256, 21, 0}).limit, "registers");
  EXPECT_EQ(on("2.0", {192, 16, 6 * kib}).limit, "warps, blocks, shared memory");
  EXPECT_DOUBLE_EQ(on("2.0", {64, 16, 0}).occupancy, 1.0 / 3);  // 8 blocks of 2 warps
  // Kepler: 37 registers are allocated as 40: 51 warps, in partitions 48, six blocks of eight.
  EXPECT_EQ(on("3.5", {256, 37, 0}).blocks, 6);
  EXPECT_EQ(on("7.5", {1024, 64, 0}).blocks, 1);
  EXPECT_DOUBLE_EQ(on("7.5", {1024, 64, 0}).occupancy, 1);
}

TEST(Residency, CountsTheMemoryThatTheSystemReserves) {
  EXPECT_EQ(on("7.0", {128, 16, 32 * kib}).by_shared, 3);
  EXPECT_EQ(on("8.0", {128, 16, 32 * kib}).by_shared, 4);  // 164 KiB, 33 a block
  EXPECT_EQ(on("9.0", {256, 40, 8 * kib}).by_shared, 25);
  EXPECT_EQ(on("9.0", {256, 40, 8 * kib}).blocks, 6);
  EXPECT_EQ(on("9.0", {256, 40, 8 * kib}).limit, "registers");
  EXPECT_EQ(on("9.0", {256, 40, 8 * kib}).block_registers, 10240);
  EXPECT_EQ(on("9.0", {256, 40, 8 * kib}).block_shared_bytes, 9 * kib);
  EXPECT_EQ(on("9.0", {32, 16, 227 * kib}).blocks, 1);
}

TEST(Residency, IsNoneForBlocksThatCannotBeLaunched) {
  EXPECT_EQ(on("9.0", {32, 16, 227 * kib + 1}).blocks, 0);
  EXPECT_EQ(on("9.0", {32, 16, 227 * kib + 1}).limit, "shared memory");
  EXPECT_EQ(on("9.0", {1024, 65, 0}).blocks, 0);
  EXPECT_EQ(on("9.0", {1024, 65, 0}).limit, "registers");
  EXPECT_EQ(on("2.0", {32, 64, 0}).blocks, 0);
}

TEST(Residency, RefusesVersionsItDoesNotKnow) {
  EXPECT_THROW((void)compute_capability("4.0"), Error);
  EXPECT_THROW((void)compute_capability(""), Error);
  EXPECT_GE(compute_capabilities().size(), 14u);
}

TEST(Residency, IsThatOfTheVendorForRandomBlocks) {
#if __has_include(<cuda_occupancy.h>)
  std::mt19937 random(42);
  const auto below = [&](index_t n) { return static_cast<index_t>(random()) % n; };
  index_t compared = 0;
  for (const ComputeCapability& row : compute_capabilities()) {
    const Multiprocessor& m = row.multiprocessor;
    const auto point = row.version.find('.');
    cudaOccDeviceProp device;
    device.computeMajor = std::stoi(std::string(row.version.substr(0, point)));
    device.computeMinor = std::stoi(std::string(row.version.substr(point + 1)));
    if (device.computeMajor < 3) continue;  // the header begins there
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = static_cast<int>(m.threads);
    device.regsPerBlock = static_cast<int>(m.block_registers);
    device.regsPerMultiprocessor = static_cast<int>(m.registers);
    device.warpSize = 32;
    device.sharedMemPerBlock = static_cast<std::size_t>(48 * kib);
    device.sharedMemPerMultiprocessor = static_cast<std::size_t>(m.shared_bytes);
    device.sharedMemPerBlockOptin = static_cast<std::size_t>(m.block_shared_bytes);
    device.reservedSharedMemPerBlock = static_cast<std::size_t>(m.reserved_bytes);
    device.numSms = 1;
    for (int turn = 0; turn < 2000; ++turn) {
      const BlockShape block{1 + below(1024), 1 + below(m.thread_registers),
                             below(4) == 0 ? 0 : below(m.block_shared_bytes + 1)};
      cudaOccFuncAttributes function;
      function.maxThreadsPerBlock = INT_MAX;
      function.numRegs = static_cast<int>(block.registers);
      function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block.shared_bytes);
      function.numBlockBarriers = 1;
      const cudaOccDeviceState state;
      cudaOccResult result{};
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(
                    &result, &device, &function, &state, static_cast<int>(block.threads),
                    static_cast<std::size_t>(block.shared_bytes)),
                CUDA_OCC_SUCCESS);
      EXPECT_EQ(residency(m, block).blocks, result.activeBlocksPerMultiprocessor)
          << row.version << ": " << block.threads << " threads, " << block.registers
          << " registers, " << block.shared_bytes << " B";
      ++compared;
    }
  }
  EXPECT_GE(compared, 20000);
#else
  GTEST_SKIP() << "cuda_occupancy.h is not installed";
#endif
}

}  // namespace
}  // namespace tessera::machine
