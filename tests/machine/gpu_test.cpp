// GPU support without a GPU: reuse of memory blocks, occupancy limits, detection of the hardware.

#include "machine/gpu.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "machine/block_cache.hpp"
#include "machine/gpu_code.hpp"
#include "machine/occupancy.hpp"
#include "machine/staging_plan.hpp"

namespace tessera::machine {
namespace {

struct Note {
  std::vector<void*>* released;
  void operator()(void* data) const noexcept { released->push_back(data); }
};

struct Blocks : ::testing::Test {
  std::vector<void*> released;
  char memory[16] = {};
  BlockCache<Note> cache{100, Note{&released}};
};

TEST_F(Blocks, ServeAgainTheSameSizeAtTheSamePlaceOnly) {
  EXPECT_EQ(cache.take(0, 10), nullptr);
  cache.give(0, &memory[0], 10);
  EXPECT_EQ(cache.kept_bytes(), 10);
  EXPECT_EQ(cache.take(1, 10), nullptr);
  EXPECT_EQ(cache.take(0, 9), nullptr);
  EXPECT_EQ(cache.take(0, 10), &memory[0]);
  EXPECT_EQ(cache.take(0, 10), nullptr);
  EXPECT_EQ(cache.kept_bytes(), 0);
  EXPECT_TRUE(released.empty());
}

TEST_F(Blocks, LeaveOldestFirstWhereThereIsNoRoom) {
  cache.give(0, &memory[0], 60);
  cache.give(0, &memory[1], 40);
  cache.give(0, &memory[2], 30);
  EXPECT_EQ(released, std::vector<void*>{&memory[0]});
  EXPECT_EQ(cache.kept_bytes(), 70);
  cache.give(0, &memory[3], 101);
  EXPECT_EQ(released.back(), &memory[3]);
  EXPECT_TRUE(cache.clear());
  EXPECT_FALSE(cache.clear());
  EXPECT_EQ(released.size(), 4u);
  EXPECT_EQ(cache.kept_bytes(), 0);
}

TEST_F(Blocks, TheLatestOfASizeServesFirst) {
  cache.give(0, &memory[0], 10);
  cache.give(0, &memory[1], 10);
  EXPECT_EQ(cache.take(0, 10), &memory[1]);
  EXPECT_EQ(cache.take(0, 10), &memory[0]);
}

TEST(Occupancy, IsLimitedByWhatIsSpentFirst) {
  Gpu gpu;  // compute capability 9.0
  gpu.registers = 65536;
  gpu.threads = 2048;
  gpu.blocks = 32;
  gpu.shared_bytes = 233472;
  gpu.reserved_bytes = 1024;
  EXPECT_EQ(occupancy_limit(gpu, 256, 32, 0), "warps, registers");
  EXPECT_EQ(occupancy_limit(gpu, 256, 16, 0), "warps");
  EXPECT_EQ(occupancy_limit(gpu, 256, 128, 0), "registers");
  EXPECT_EQ(occupancy_limit(gpu, 32, 16, 0), "blocks");
  EXPECT_EQ(occupancy_limit(gpu, 256, 32, 100 * 1024), "shared memory");
}

TEST(Staging, TakesChunksOfASizeThatFitsTheJob) {
  constexpr index_t mib = index_t{1} << 20;
  EXPECT_EQ(chunk_bytes_of({}), 32 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 1}), mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 17 * mib}), 2 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 64 * mib}), 4 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 511 * mib}), 4 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 512 * mib}), 8 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 1100 * mib}), 16 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 50000 * mib}), 32 * mib);
  EXPECT_EQ(chunk_bytes_of({.job_bytes = 64 * mib, .chunk_bytes = 1000}), 1000);
}

TEST(Gpus, HaveRowsThatBeginOnSixteenBytes) {
  for (const index_t bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
    for (const index_t cols : {1, 5, 16, 33}) {
      EXPECT_EQ(device_ld(cols, bytes) * bytes % 16, 0);
      EXPECT_GE(device_ld(cols, bytes), cols);
      EXPECT_LT((device_ld(cols, bytes) - cols) * bytes, 16 * bytes);
    }
  }
}

TEST(Gpus, AreLookedAtOnceAndNeedAReasonToBeAbsent) {
  EXPECT_EQ(&gpus(), &gpus());
  if (!gpus().devices.empty()) GTEST_SKIP() << "there is one: " << gpus().devices.front().name;
  EXPECT_FALSE(gpus().reason.empty());
  EXPECT_EQ(free_gpu_memory(), 0);
  use_gpu(3);
}

TEST(GpuCode, BinariesServeLaterDevicesOfTheirMajorVersionAndVirtualCodeAllLaterOnes) {
  constexpr auto usual = "75-virtual 80-real 90a-real 90-virtual";
  for (const int major : {8, 9, 10, 12}) EXPECT_TRUE(has_code(usual, major, 0)) << major;
  EXPECT_TRUE(has_code(usual, 7, 5));
  EXPECT_TRUE(has_code(usual, 8, 9));
  EXPECT_TRUE(has_code(usual, 9, 1));
  for (const int minor : {0, 2}) EXPECT_FALSE(has_code(usual, 7, minor)) << minor;
  EXPECT_TRUE(has_code("70-virtual", 7, 0));
  EXPECT_TRUE(has_code("75-virtual", 7, 5));
  EXPECT_TRUE(has_code("75-virtual", 9, 0));
  EXPECT_FALSE(has_code("75-virtual", 7, 2));
  EXPECT_FALSE(has_code("86-real", 8, 0));
  EXPECT_FALSE(has_code("86-real", 9, 0));
  EXPECT_TRUE(has_code("86", 9, 0));
}

TEST(GpuCode, LettersRestrictIt) {
  for (const char* only : {"90a", "90a-real", "90a-virtual"}) {
    EXPECT_TRUE(has_code(only, 9, 0)) << only;
    EXPECT_FALSE(has_code(only, 10, 0)) << only;
    EXPECT_FALSE(has_code(only, 8, 0)) << only;
  }
  EXPECT_TRUE(has_code("100f-virtual", 10, 3));
  EXPECT_FALSE(has_code("100f-virtual", 12, 0));
  EXPECT_FALSE(has_code("120f-real", 10, 0));
}

TEST(GpuCode, ListsWithoutNumbersServeEveryDevice) {
  for (const char* all : {"all", "all-major", "native"}) EXPECT_TRUE(has_code(all, 7, 5)) << all;
  EXPECT_FALSE(has_code("", 9, 0));
}

TEST(GpuCode, WhatIsMissingIsNamedWithTheRemedy) {
  Gpu gpu;
  gpu.name = "Tesla T4";
  gpu.major = 7;
  gpu.minor = 5;
  EXPECT_EQ(without_code("80-real 90-virtual", gpu),
            "libtessera_cuda.so has no code for Tesla T4, compute capability 7.5 (it was compiled "
            "for 80-real, 90-virtual); configure with -DCMAKE_CUDA_ARCHITECTURES=75-real");
  gpu.major = 6;
  EXPECT_NE(without_code("80-real", gpu).find("need 7.0"), std::string::npos);
}

TEST(Gpus, HardwareShowsOnTheBus) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "tessera_gpu_test";
  fs::remove_all(root);
  const auto device = [&](const char* name, const char* vendor, const char* kind) {
    const fs::path folder = root / "sys/bus/pci/devices" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
    std::ofstream(folder / "class") << kind << "\n";
  };
  EXPECT_FALSE(shows_gpu_hardware(root.string()));
  device("0000:00:1f.0", "0x8086", "0x030000");
  device("0000:19:00.1", "0x10de", "0x040300");  // audio function of a graphics card
  EXPECT_FALSE(shows_gpu_hardware(root.string()));
  device("0000:19:00.0", "0x10de", "0x030200");
  EXPECT_TRUE(shows_gpu_hardware(root.string()));
  fs::remove_all(root / "sys");
  EXPECT_FALSE(shows_gpu_hardware(root.string()));
  fs::create_directories(root / "dev");
  std::ofstream(root / "dev/nvidiactl") << "";
  EXPECT_TRUE(shows_gpu_hardware(root.string()));
  fs::remove_all(root);
}

}  // namespace
}  // namespace tessera::machine
