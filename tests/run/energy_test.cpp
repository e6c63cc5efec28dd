// Energy of repetitions from counters in a folder of the test, on several ranks of one node.

#include "run/energy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "machine/environment.hpp"
#include "mpi/runtime.hpp"

namespace tessera::run {
namespace {

namespace fs = std::filesystem;

/// Zones in a folder that all ranks of the test share; rank 0 writes them.
struct EnergyReadingTest : ::testing::Test {
  const mpi::Communicator world = mpi::Communicator::world();
  const std::string root = world.broadcast(
      (fs::path(testing::TempDir()) / ("energy_" + std::to_string(getpid()))).string(), 0);
  const machine::EnvironmentScope powercap{"TESSERA_POWERCAP", root.c_str()};

  ~EnergyReadingTest() override {
    world.barrier();
    if (world.is_root()) fs::remove_all(root);
  }
  /// Sets the counter of a zone when all ranks have arrived, before any continues.
  void set(const std::string& zone, std::uint64_t microjoules) const {
    world.barrier();
    if (world.is_root()) std::ofstream(root + "/" + zone + "/energy_uj") << microjoules << '\n';
    world.barrier();
  }
  void add(const std::string& zone, const std::string& name) const {
    if (world.is_root()) {
      fs::create_directories(root + "/" + zone);
      std::ofstream(root + "/" + zone + "/name") << name << '\n';
      std::ofstream(root + "/" + zone + "/max_energy_range_uj") << 1'000'000'000 << '\n';
    }
    set(zone, 0);
  }
  [[nodiscard]] Neighbours neighbours() const {
    return RollCall(world, ExitCode::ok, {}).neighbours();
  }
};

TEST_F(EnergyReadingTest, RanksKnowWhetherAnyCountsAndWhoIsFirst) {
  EXPECT_EQ(neighbours().before_on_host, world.rank());
  add("intel-rapl:0", "package-0");
  EXPECT_TRUE(neighbours().count_energy);
}

TEST_F(EnergyReadingTest, CountsANodeOnceAndWindowsOnly) {
  add("intel-rapl:0", "package-0");
  add("intel-rapl:0:0", "dram");
  add("intel-rapl:1", "package-1");
  const EnergyScope scope(neighbours());
  EnergyReading reading;
  set("intel-rapl:0", 1'000'000);
  reading.begin(world);
  set("intel-rapl:0", 5'000'000);
  reading.end(false);  // a warm-up
  reading.begin(world);
  set("intel-rapl:0", 7'000'000);
  set("intel-rapl:1", 500'000);
  reading.pause();  // an aside
  set("intel-rapl:0", 8'000'000);
  reading.resume();
  set("intel-rapl:0:0", 250'000);
  reading.end(true);
  set("intel-rapl:0", 10'000'000);  // between repetitions
  reading.begin(world);
  set("intel-rapl:0", 11'000'000);
  reading.end(true);
  const Energy energy = reading.result(world, {0.001, 0.001});
  EXPECT_EQ(energy.empty(), !world.is_root());
  if (!world.is_root()) return;
  ASSERT_EQ(energy.size(), 2U);
  EXPECT_EQ(energy[0].domain, "package");
  EXPECT_EQ(energy[0].counters, 2);
  EXPECT_EQ(energy[0].joules, (std::vector<double>{2.5, 1}));
  EXPECT_EQ(energy[1].domain, "dram");
  EXPECT_EQ(energy[1].counters, 1);
  EXPECT_EQ(energy[1].joules, (std::vector<double>{0.25, 0}));
  EXPECT_EQ(energy[1].seconds.size(), 2U);
  EXPECT_GT(energy[1].seconds[0], 0);
}

TEST_F(EnergyReadingTest, SaysWhichCounterVanished) {
  add("intel-rapl:0", "package-0");
  const EnergyScope scope(neighbours());
  EnergyReading reading;
  reading.begin(world);
  world.barrier();
  if (world.is_root()) fs::remove_all(root + "/intel-rapl:0");
  world.barrier();
  reading.end(true);
  const Energy energy = reading.result(world, {0.001});
  if (!world.is_root()) return;
  ASSERT_EQ(energy.size(), 1U);
  EXPECT_TRUE(std::isnan(energy[0].joules.front()));
  EXPECT_EQ(energy[0].reason, root + "/intel-rapl:0/energy_uj: No such file or directory");
}

TEST_F(EnergyReadingTest, TheLeastPowerOfTheRunIsIdle) {
  add("intel-rapl:0", "package-0");
  const EnergyScope scope(neighbours());
  std::vector<double> idle, watts;
  for (const std::uint64_t energy : {900'000, 0, 900'000}) {
    set("intel-rapl:0", 0);
    EnergyReading reading;
    reading.begin(world);
    usleep(20'000);
    set("intel-rapl:0", energy);
    reading.end(true);
    const Energy found = reading.result(world, {0.001});  // too short for a sleep
    if (!world.is_root()) continue;
    ASSERT_EQ(found.size(), 1U);
    watts.push_back(found[0].total().watts());
    idle.push_back(found[0].idle_watts);
  }
  if (!world.is_root()) return;
  EXPECT_EQ(idle, (std::vector<double>{watts.front(), 0, 0}));
}

TEST_F(EnergyReadingTest, ASleepShowsTheIdlePowerOnce) {
  add("intel-rapl:0", "package-0");
  const EnergyScope scope(neighbours());
  for (int point = 0; point < 2; ++point) {
    set("intel-rapl:0", 0);
    EnergyReading reading;
    reading.begin(world);
    usleep(20'000);
    set("intel-rapl:0", 900'000);
    reading.end(true);
    const Timer timer;
    const Energy found = reading.result(world, {0.02});
    EXPECT_GE(timer.seconds(), point == 0 ? 0.03 : 0);
    if (!world.is_root()) continue;
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].joules.front(), 0.9);
    EXPECT_EQ(found[0].idle_watts, 0);  // nothing moved in the sleep
  }
}

TEST_F(EnergyReadingTest, WithoutCountersThereIsNoEnergy) {
  const EnergyScope scope(Neighbours{});
  add("intel-rapl:0", "package-0");
  EnergyReading reading;
  reading.begin(world);
  reading.end(true);
  EXPECT_TRUE(reading.result(world, {1}).empty());
}

TEST_F(EnergyReadingTest, SaysWhyProcessorsReportNone) {
  EXPECT_EQ(energy_missing(), "no energy counters in " + root);
  world.barrier();
  add("intel-rapl:0", "package-0");
  EXPECT_EQ(energy_missing(), "");
}

DomainEnergy made(const std::string& domain, double update, std::vector<double> joules,
                  std::vector<double> seconds) {
  DomainEnergy one;
  one.domain = domain;
  one.source = "powercap";
  one.counters = 1;
  one.update = update;
  one.joules = std::move(joules);
  one.seconds = std::move(seconds);
  one.idle_watts = 50;
  return one;
}

double real(const io::Row& row, const char* column) {
  for (const io::Cell& cell : row)
    if (cell.column == column) return std::get<double>(cell.value);
  ADD_FAILURE() << column;
  return NAN;
}

TEST(EnergyRows, AreRepetitionsLongEnoughAndTheirMean) {
  const std::vector<io::Row> rows =
      energy_rows("p", {made("package", 0.001, {3, 1, 2}, {0.02, 0.005, 0.02}),
                        made("gpu", 0.1, {3, 1, 2}, {0.02, 0.005, 0.02})});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0][1].value, io::Value(index_t{-1}));
  EXPECT_DOUBLE_EQ(real(rows[0], "joules"), 2);
  EXPECT_DOUBLE_EQ(real(rows[0], "seconds"), 0.015);
  EXPECT_DOUBLE_EQ(real(rows[0], "watts"), 6 / 0.045);
  EXPECT_DOUBLE_EQ(real(rows[0], "idle_share"), 50 / (6 / 0.045));
  EXPECT_EQ(rows[1][1].value, io::Value(index_t{0}));
  EXPECT_DOUBLE_EQ(real(rows[1], "watts"), 150);
  EXPECT_EQ(rows[2][1].value, io::Value(index_t{2}));
  EXPECT_TRUE(std::isnan(real(rows[3], "joules")));
  EXPECT_TRUE(std::isnan(real(rows[3], "idle_share")));
  EXPECT_EQ(rows[3].back().value, io::Value("too short: 1.73 s is needed"));
}

TEST(EnergyRows, HaveManyShortWindowsIfTheirRoundingAveragesOut) {
  for (const auto& [count, is_long] : {std::pair(100, false), std::pair(400, true)}) {
    const auto windows = static_cast<std::size_t>(count);  // 60 and 240 ms of 100 and 200 needed
    const std::vector<io::Row> rows =
        energy_rows("p", {made("package", 0.001, std::vector<double>(windows, 0.1),
                               std::vector<double>(windows, 0.0006))});
    ASSERT_EQ(rows.size(), 1U) << "no window is long enough alone";
    EXPECT_EQ(std::isnan(real(rows[0], "joules")), !is_long);
  }
}

TEST(NodesEnergy, IsOfPackagesMemoriesAndGpus) {
  const Energy parts{made("package", 0.001, {3, 1}, {0.02, 0.02}),
                     made("dram", 0.001, {0.5, 0.5}, {0.02, 0.02}),
                     made("platform", 0.001, {9, 9}, {0.02, 0.02})};
  const NodesEnergy sum = sum_of(parts);
  EXPECT_DOUBLE_EQ(sum.joules, 2.5);
  EXPECT_DOUBLE_EQ(sum.watts, 125);
  EXPECT_DOUBLE_EQ(sum.idle_share, 100.0 / 125);
  EXPECT_TRUE(std::isnan(sum_of({}).joules));
  EXPECT_TRUE(std::isnan(sum_of({}).idle_share));
  const NodesEnergy too_short = sum_of({parts[0], made("gpu", 0.1, {3, 1}, {0.02, 0.02})});
  EXPECT_TRUE(std::isnan(too_short.joules));
}

}  // namespace
}  // namespace tessera::run
