// --device: choice, message and error, with and without devices.

#include "run/device.hpp"

#include <gtest/gtest.h>

namespace tessera::run {
namespace {

constexpr index_t gib = index_t{1} << 30;

machine::Gpus with_gpu() {
  machine::Gpus gpus;
  gpus.built = true;
  machine::Gpu gpu;
  gpu.name = "Some GPU";
  gpu.memory_bytes = 80 * gib;
  gpus.devices.push_back(gpu);
  return gpus;
}

machine::Gpus without(bool built) {
  machine::Gpus gpus;
  gpus.built = built;
  gpus.reason = built ? "no CUDA-capable device is detected" : "this build has no CUDA";
  return gpus;
}

DeviceRequest request(const char* wanted, index_t bytes = gib, index_t sharing = 1) {
  return {wanted, "cuda_best", bytes, sharing};
}

struct Refused {
  ExitCode code = ExitCode::ok;
  std::string words;
};
Refused refused(const DeviceRequest& wanted, const machine::Gpus& gpus, index_t free) {
  try {
    (void)choose_device(wanted, gpus, free, true);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST(Device, AutoTakesTheGpuWithRoomAndSaysSo) {
  const DeviceChoice choice = choose_device(request("auto"), with_gpu(), 70 * gib, true);
  EXPECT_EQ(choice.space, Space::device);
  EXPECT_NE(choice.note.find("Some GPU"), std::string::npos);
  EXPECT_NE(choice.note.find("cuda_best"), std::string::npos);
}

TEST(Device, RanksThatShareAGpuWithoutTheMultiProcessServiceAreTold) {
  const auto note = [](index_t sharing, bool takes_turns) {
    machine::Gpus gpus = with_gpu();
    gpus.devices.front().takes_turns = takes_turns;
    return choose_device(request("auto", gib, sharing), gpus, 70 * gib, true).note;
  };
  EXPECT_NE(note(2, true).find("2 ranks share a GPU"), std::string::npos) << note(2, true);
  EXPECT_NE(note(2, true).find("nvidia-cuda-mps-control -d"), std::string::npos);
  for (const std::string& quiet : {note(2, false), note(1, true)})
    EXPECT_EQ(quiet.find("share"), std::string::npos) << quiet;
}

TEST(Device, AutoTakesTheCpuWhereTheProblemHasNoRoomAndSaysHowMuchIsMissing) {
  const DeviceChoice choice = choose_device(request("auto", 10 * gib), with_gpu(), 10 * gib, true);
  EXPECT_EQ(choice.space, Space::host);
  EXPECT_NE(choice.note.find("10 GiB needed"), std::string::npos) << choice.note;
  EXPECT_EQ(choose_device(request("auto", 9 * gib), with_gpu(), 10 * gib, true).space,
            Space::device);
  EXPECT_EQ(choose_device(request("auto", 9 * gib, 2), with_gpu(), 10 * gib, true).space,
            Space::host);
}

TEST(Device, AutoWithoutAGpuSpeaksOnlyWhereOneWasToBeExpected) {
  const bool hardware = true;
  EXPECT_EQ(choose_device(request("auto"), without(false), 0, hardware).note, "");
  EXPECT_EQ(choose_device(request("auto"), without(true), 0, !hardware).note, "");
  const DeviceChoice choice = choose_device(request("auto"), without(true), 0, hardware);
  EXPECT_EQ(choice.space, Space::host);
  EXPECT_NE(choice.note.find("no CUDA-capable device"), std::string::npos);
}

TEST(Device, CpuNeverLooks) {
  const DeviceChoice choice = choose_device(request("cpu"), with_gpu(), 70 * gib, true);
  EXPECT_EQ(choice.space, Space::host);
  EXPECT_EQ(choice.note, "");
}

TEST(Device, GpuWithoutOneIsAWrongRequestWithItsReason) {
  for (const bool built : {false, true}) {
    const Refused found = refused(request("gpu"), without(built), 0);
    EXPECT_EQ(found.code, ExitCode::usage);
    EXPECT_NE(found.words.find(without(built).reason), std::string::npos);
  }
}

TEST(Device, GpuWithoutRoomIsAMatterOfMemory) {
  EXPECT_EQ(refused(request("gpu", 100 * gib), with_gpu(), 70 * gib).code, ExitCode::memory);
  EXPECT_EQ(refused(request("gpu", 60 * gib), with_gpu(), 70 * gib).code, ExitCode::ok);
}

TEST(Device, WorkloadsWithoutAKernelStayOnTheHost) {
  DeviceRequest none = request("auto");
  none.kernel.clear();
  const DeviceChoice choice = choose_device(none, with_gpu(), 70 * gib, true);
  EXPECT_EQ(choice.space, Space::host);
  EXPECT_EQ(choice.note, "");
  none.wanted = "gpu";
  EXPECT_EQ(refused(none, with_gpu(), 70 * gib).code, ExitCode::usage);
}

TEST(Device, OptionsAreThoseOfEveryWorkloadAndRefuseWhatNoDeviceHas) {
  OptionSet options("workload", "for this test", {});
  add_device(options);
  add_device_memory(options, "problems");
  const Parsed parsed = options.parse({"--device-memory", "2GiB,0"});
  EXPECT_EQ(parsed.lists.at("device"), std::vector<std::string>{"auto"});
  const std::vector<Values> points = options.points(parsed);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].bytes("device-memory"), 2 * gib);
  EXPECT_EQ(points[1].bytes("device-memory"), 0);
  EXPECT_THROW((void)options.parse({"--device", "abacus"}), Error);
}

TEST(Device, ProvenanceConcernsGpusOnlyWhereTheRequestDoes) {
  Parsed parsed;
  EXPECT_EQ(concerned_gpus(parsed), nullptr);
  parsed.lists["kernel"] = {"naive"};
  EXPECT_EQ(concerned_gpus(parsed), nullptr);
  parsed.lists["device"] = {"cpu"};
  EXPECT_EQ(concerned_gpus(parsed), nullptr);
  parsed.lists["device"] = {"cpu", "auto"};
  EXPECT_NE(concerned_gpus(parsed), nullptr);
  parsed.lists["device"] = {"cpu"};
  parsed.lists["kernel"] = {"cublas"};
  EXPECT_NE(concerned_gpus(parsed), nullptr);
}

TEST(Device, PropertiesAreRowsLikeCeilings) {
  machine::Gpu gpu = with_gpu().devices.front();
  gpu.memory_clock_hz = 3.2e9;
  gpu.bus_bits = 6144;
  EXPECT_NEAR(gpu.bus_bandwidth() / 1e9, 4915.2, 0.1);
  for (const Ceiling& c : properties(gpu)) EXPECT_TRUE(c.name.starts_with("gpu_")) << c.name;
  EXPECT_NE(described(gpu).find("Some GPU"), std::string::npos);
}

TEST(Device, IsQueriedAsItsDriverReports) {
  machine::Gpu gpu;
  gpu.block_threads = 1024;
  gpu.warp = 32;
  gpu.block_shared_bytes = index_t{48} << 10;
  gpu.block_opt_in_bytes = index_t{227} << 10;
  gpu.constant_bytes = index_t{64} << 10;
  gpu.bus_bits = 6144;
  gpu.memory_clock_hz = 3.2e9;
  gpu.copy_engines = 3;
  gpu.ecc = true;
  gpu.concurrent_kernels = true;
  std::string text;
  for (const Reported& one : device_query(gpu)) text += one.subject + ": " + one.text + '\n';
  for (const char* words :
       {"1024 threads (warps of 32)", "48 KiB shared memory (227 KiB if a kernel asks)",
        "6144 bits at 3.2 GHz, ECC on", "64 KiB constant", "3 copy engines",
        "concurrent kernels: yes", "unified addressing: no"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

}  // namespace
}  // namespace tessera::run
