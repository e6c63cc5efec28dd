// Energy counters in a folder of the test, and of the GPUs of a made-up driver
// (tests/machine/nvidia_ml.c, which LD_LIBRARY_PATH names).

#include "machine/energy.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "machine/nvml.hpp"

namespace tessera::machine {
namespace {

namespace fs = std::filesystem;

struct Powercap : ::testing::Test {
  const fs::path root = fs::path(testing::TempDir()) / ("powercap_" + std::to_string(getpid()));
  ~Powercap() override { fs::remove_all(root); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << '\n';
  }
  void set(const std::string& zone, std::uint64_t microjoules) const {
    write(zone + "/energy_uj", std::to_string(microjoules));
  }
  void add(const std::string& zone, const std::string& name, std::uint64_t microjoules) const {
    write(zone + "/name", name);
    write(zone + "/max_energy_range_uj", "262143328850");
    set(zone, microjoules);
  }
  [[nodiscard]] EnergyCounters counters() const { return powercap_counters(root.string()); }
};

TEST_F(Powercap, HasPackagesMemoriesAndThePlatformOnce) {
  add("intel-rapl:0", "package-0", 5);
  add("intel-rapl:0:0", "core", 5);
  add("intel-rapl:0:1", "dram", 5);
  add("intel-rapl:1", "package-1-die-0", 5);
  add("intel-rapl:1:0", "uncore", 5);
  add("intel-rapl:2", "psys", 5);
  add("intel-rapl-mmio:0", "package-0", 5);  // the first package, by another path
  add("dtpm", "root", 5);
  const EnergyCounters found = counters();
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& counter : found.all) all.emplace_back(counter->id, counter->domain);
  EXPECT_EQ(all, (std::vector<std::pair<std::string, std::string>>{{"intel-rapl:0", "package"},
                                                                   {"intel-rapl:0:1", "dram"},
                                                                   {"intel-rapl:1", "package"},
                                                                   {"intel-rapl:2", "platform"}}));
  EXPECT_EQ(found.missing, "");
}

TEST_F(Powercap, CountsFromTheFirstReadingOnAndOverTheEndOfItsRange) {
  add("intel-rapl:0", "package-0", 1'000'000);
  const EnergyCounters found = counters();
  ASSERT_EQ(found.all.size(), 1U);
  EnergyCounter& counter = *found.all.front();
  EXPECT_EQ(counter.joules(), 0);
  set("intel-rapl:0", 3'500'000);
  EXPECT_DOUBLE_EQ(counter.joules(), 2.5);
  set("intel-rapl:0", 262'143'000'000);
  EXPECT_DOUBLE_EQ(counter.joules(), 262'142);
  set("intel-rapl:0", 671'150);  // 1 J later
  EXPECT_DOUBLE_EQ(counter.joules(), 262'143);
  set("intel-rapl:0", 671'149);  // a whole range, but for a microjoule
  EXPECT_DOUBLE_EQ(counter.joules(), 262'143 + 262'143.32885 - 1e-6);
  EXPECT_TRUE(std::isnan(counter.watts()));
}

TEST_F(Powercap, RefusesACounterThatFallsWithoutARange) {
  add("intel-rapl:0", "package-0", 1'000'000);
  fs::remove(root / "intel-rapl:0/max_energy_range_uj");
  const EnergyCounters found = counters();
  set("intel-rapl:0", 5);
  EXPECT_TRUE(std::isnan(found.all.front()->joules()));
  EXPECT_NE(found.all.front()->missing.find("fell"), std::string::npos);
}

TEST_F(Powercap, SaysWhyThereIsNone) {
  EXPECT_EQ(counters().missing, "no energy counters in " + root.string());
  EXPECT_FALSE(may_count_energy(root.string(), "/nowhere"));
  EXPECT_TRUE(may_count_energy(root.string(), "/dev/null"));
  write("intel-rapl:0/name", "package-0");
  const std::string file = (root / "intel-rapl:0/energy_uj").string();
  EXPECT_EQ(counters().missing, file + ": No such file or directory");
  for (const char* text : {"", "none", "-1", "99999999999999999999999"}) {
    write("intel-rapl:0/energy_uj", text);
    EXPECT_EQ(counters().missing, file + ": No data available") << text;
  }
  set("intel-rapl:0", 1);
  EXPECT_TRUE(may_count_energy(root.string(), "/nowhere"));
}

TEST_F(Powercap, SaysThatOnlyRootMayReadIt) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  add("intel-rapl:0", "package-0", 1);
  const std::string file = (root / "intel-rapl:0/energy_uj").string();
  fs::permissions(file, fs::perms::none);
  EXPECT_EQ(counters().missing, file + ": Permission denied");
  EXPECT_FALSE(may_count_energy(root.string(), "/nowhere"));
}

TEST_F(Powercap, KeepsTheCountersThatCanBeReadBesideOthers) {
  add("intel-rapl:0", "package-0", 1);
  write("intel-rapl:0:0/name", "dram");
  const EnergyCounters found = counters();
  EXPECT_EQ(found.all.size(), 1U);
  EXPECT_NE(found.missing.find("intel-rapl:0:0"), std::string::npos);
}

TEST_F(Powercap, AddsUpWindowsOnly) {
  add("intel-rapl:0", "package-0", 1'000'000);
  add("intel-rapl:1", "package-1", 7'000'000);
  EnergyMeter all(counters().all);
  set("intel-rapl:0", 2'000'000);  // before the first window
  all.start();
  set("intel-rapl:0", 5'000'000);
  set("intel-rapl:1", 7'500'000);
  all.stop();
  set("intel-rapl:0", 9'000'000);  // between windows
  all.start();
  set("intel-rapl:0", 9'250'000);
  all.stop();
  const EnergyMeter::Windows windows = all.take();
  EXPECT_EQ(windows.joules, (std::vector<double>{3.25, 0.5}));
  EXPECT_GT(windows.seconds, 0);
  const EnergyMeter::Windows none = all.take();
  EXPECT_EQ(none.joules, (std::vector<double>{0, 0}));
  EXPECT_EQ(none.seconds, 0);
}

TEST_F(Powercap, HasNoEnergyOfAWindowInWhichACounterVanishes) {
  add("intel-rapl:0", "package-0", 1);
  add("intel-rapl:1", "package-1", 1);
  EnergyMeter all(counters().all);
  all.start();
  set("intel-rapl:0", 1'000'001);
  fs::remove_all(root / "intel-rapl:1");
  all.stop();
  const EnergyMeter::Windows windows = all.take();
  EXPECT_DOUBLE_EQ(windows.joules[0], 1);
  EXPECT_TRUE(std::isnan(windows.joules[1]));
  const std::string file = (root / "intel-rapl:1/energy_uj").string();
  EXPECT_EQ(all.counters()[1]->missing, file + ": No such file or directory");
}

/// A counter that wraps around within milliseconds, and tells how often it was read.
class Fast : public EnergyCounter {
 public:
  explicit Fast(std::atomic<int>& readings) : readings_(readings) { longest_gap = 1e-3; }
  double joules() override {
    ++readings_;
    readings_.notify_all();
    return 0;
  }

 private:
  std::atomic<int>& readings_;
};

TEST(EnergyMeter, ReadsInLongWindowsToo) {
  std::atomic<int> readings{0};
  std::vector<std::unique_ptr<EnergyCounter>> counters;
  counters.push_back(std::make_unique<Fast>(readings));
  EnergyMeter meter(std::move(counters));
  meter.start();
  for (int seen = readings; seen < 5; seen = readings) readings.wait(seen);  // by its thread
  meter.stop();
  EXPECT_GE(readings, 6);
}

TEST(EnergyMeter, IsEmptyWithoutCounters) {
  EnergyMeter none({});
  none.start();
  none.stop();
  EXPECT_TRUE(none.take().joules.empty());
}

/// Sets the readings of the made-up driver.
struct Nvml : ::testing::Test {
  void* const file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  template <class... A>
  void call(const char* name, A... values) const {
    reinterpret_cast<void (*)(A...)>(dlsym(file, name))(values...);
  }
  void SetUp() override {
    ASSERT_NE(file, nullptr);
    ASSERT_NE(dlsym(file, "fake_nvml_energy"), nullptr) << "a driver of this machine was loaded";
    call("fake_nvml_result", 0);
  }
};

TEST_F(Nvml, CountsMillijoulesOfTheGpuAtAnAddress) {
  call("fake_nvml_energy", 1'000'000ULL);
  call("fake_nvml_power", 75'500U);
  const EnergyCounters found = gpu_energy_counter("0000:19:00.0");
  ASSERT_EQ(found.all.size(), 1U) << found.missing;
  EnergyCounter& gpu = *found.all.front();
  EXPECT_EQ(gpu.domain + " " + gpu.id + " " + gpu.source, "gpu 0000:19:00.0 NVML");
  call("fake_nvml_energy", 1'002'500ULL);
  EXPECT_DOUBLE_EQ(gpu.joules(), 2.5);
  EXPECT_DOUBLE_EQ(gpu.watts(), 75.5);
  call("fake_nvml_result", 15);
  EXPECT_TRUE(std::isnan(gpu.joules()));
  EXPECT_TRUE(std::isnan(gpu.watts()));
  EXPECT_EQ(gpu.missing, "nvmlDeviceGetTotalEnergyConsumption: GPU is lost");
}

TEST_F(Nvml, IntegratesThePowerOfAGpuWithoutACounter) {
  call("fake_nvml_power", 200'000U);
  EnergyMeter meter(gpu_energy_counter("0000:1A:00.0").all);
  ASSERT_EQ(meter.counters().size(), 1U);
  EXPECT_EQ(meter.counters().front()->source, "NVML power");
  EXPECT_LT(meter.counters().front()->longest_gap, 0.1);
  const Timer timer;
  meter.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  meter.stop();
  const double longest = timer.seconds();
  const auto [joules, seconds] = meter.take();
  EXPECT_GE(joules.front(), 200 * 0.02);
  EXPECT_LE(joules.front(), 200 * longest);
  EXPECT_GE(seconds, 0.02);
  call("fake_nvml_result", 15);
  meter.start();
  meter.stop();
  EXPECT_TRUE(std::isnan(meter.take().joules.front()));
  EXPECT_EQ(meter.counters().front()->missing, "nvmlDeviceGetPowerUsage: GPU is lost");
}

TEST_F(Nvml, SaysWhichGpuItDoesNotKnow) {
  const EnergyCounters found = gpu_energy_counter("0000:77:00.0");
  EXPECT_TRUE(found.all.empty());
  EXPECT_EQ(found.missing, "GPU 0000:77:00.0: Not Found");
  call("fake_nvml_result", 3);
  EXPECT_EQ(gpu_energy_counter("0000:1A:00.0").missing, "GPU 0000:1A:00.0: Not Supported");
}

}  // namespace
}  // namespace tessera::machine
