// Profiles of constructed samples: busy threads, shares, laws; names of functions.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

#include "io/schema.hpp"
#include "lab/analyse/report.hpp"

extern "C" {
/// A function whose name the tests look up.
[[gnu::noinline]] int tessera_known_function(int x) { return x * 3 + 1; }
}

namespace tessera::analyse {
namespace {

constexpr double millisecond = 1e-3;

Sample sample(std::uint32_t thread, double milliseconds, std::uint64_t switches = 0,
              std::uint64_t address = 0) {
  return {address, static_cast<std::int64_t>(1e6 * milliseconds), thread, 0, switches};
}

std::vector<int> busy_of(const std::vector<Sample>& samples) {
  return busy_at(samples, std::vector<bool>(samples.size(), true), millisecond);
}

TEST(BusyAt, CountsThreadsThatRunAtOnce) {
  const std::vector<Sample> samples{sample(0, 1), sample(0, 2),   sample(0, 3), sample(1, 3.5),
                                    sample(0, 4), sample(1, 4.5), sample(0, 5), sample(1, 5.5)};
  EXPECT_EQ(busy_of(samples), (std::vector<int>{1, 1, 2, 2, 2, 2, 2, 1}));
}

TEST(BusyAt, PreemptedThreadsAreBusyAndThoseThatGaveUpTheirProcessorAreNot) {
  // Two threads share a processor: each has its samples while the other is preempted.
  const std::vector<Sample> preempted{sample(0, 1),  sample(0, 2),  sample(1, 12), sample(1, 13),
                                      sample(0, 23), sample(0, 24), sample(1, 34), sample(1, 35)};
  EXPECT_EQ(busy_of(preempted), (std::vector<int>{1, 1, 2, 2, 2, 2, 1, 1}));
  // The same times, but thread 0 waited between its samples at 2 and 23, thread 1 from 13 to 34.
  const std::vector<Sample> waited{sample(0, 1),     sample(0, 2),     sample(1, 12),
                                   sample(1, 13),    sample(0, 23, 1), sample(0, 24, 1),
                                   sample(1, 34, 1), sample(1, 35, 1)};
  EXPECT_EQ(busy_of(waited), (std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(BusyAt, ThreadsThatOnlyWaitAreNotBusy) {
  const std::vector<Sample> samples{sample(0, 1), sample(1, 1.5), sample(0, 2), sample(1, 2.5)};
  EXPECT_EQ(busy_at(samples, {true, false, true, false}, millisecond),
            (std::vector<int>{1, 0, 1, 0}));
}

TEST(Profile, SharesFollowFromBusyThreads) {
  Profile profile;
  profile.busy = {0, 25, 0, 75};  // 25 units of work alone, 75 by three threads
  EXPECT_EQ(profile.samples(), 100);
  EXPECT_DOUBLE_EQ(profile.serial_of_work(), 0.25);
  EXPECT_DOUBLE_EQ(profile.serial_of_time(), 0.5);
  EXPECT_DOUBLE_EQ(profile.mean_busy(), 2);
  EXPECT_NEAR(profile.serial_error(), 0.085, 1e-3);
  profile.busy = {0, 0, 300};
  EXPECT_DOUBLE_EQ(profile.serial_of_work(), 0);
  EXPECT_DOUBLE_EQ(profile.mean_busy(), 2);
  EXPECT_DOUBLE_EQ(profile.serial_error(), 0.01);
}

/// Amdahl and Gustafson agree on the run that was measured: a speed-up from the serial share of the
/// work equals one from the serial share of the time.
TEST(Laws, AgreeOnTheMeasuredRun) {
  for (const index_t threads : {2, 4, 16}) {
    for (const index_t serial : {1, 10, 50}) {
      Profile profile;
      profile.busy.assign(static_cast<std::size_t>(threads) + 1, 0);
      profile.busy[1] = serial;
      profile.busy.back() = 100 - serial;
      const auto p = static_cast<double>(threads);
      EXPECT_NEAR(amdahl(profile.serial_of_work(), p), gustafson(profile.serial_of_time(), p),
                  1e-12);
      EXPECT_NEAR(amdahl(profile.serial_of_work(), p), profile.mean_busy(), 1e-12);
    }
  }
  EXPECT_DOUBLE_EQ(amdahl(0.1, INFINITY), 10);
  EXPECT_DOUBLE_EQ(amdahl(0.1, 4), 1 / 0.325);
  EXPECT_DOUBLE_EQ(amdahl(1, 16), 1);
  EXPECT_DOUBLE_EQ(gustafson(0.1, 4), 3.7);
}

TEST(Symbols, NameFunctionsOfThisProgram) {
  std::ifstream maps("/proc/self/maps");
  std::ostringstream text;
  text << maps.rdbuf();
  Mappings mappings(text.str());
  const auto address = reinterpret_cast<std::uint64_t>(&tessera_known_function);
  EXPECT_EQ(mappings.at(address).function, "tessera_known_function");
  EXPECT_EQ(mappings.at(address + 1).function, "tessera_known_function");
  EXPECT_EQ(mappings.at(address).module, "lab_analyse_test");
  EXPECT_EQ(mappings.at(8).module, "");
  EXPECT_EQ(mappings.at(8).function, "");
}

TEST(Symbols, AreNoneOfFilesThatAreNoPrograms) {
  EXPECT_EQ(SymbolTable("/nonexistent").at(0), "");
  EXPECT_EQ(SymbolTable("/proc/self/status").at(64), "");
  EXPECT_EQ(SymbolTable("[heap]").at(0), "");
}

TEST(Symbols, AreReadable) {
  EXPECT_EQ(readable("main"), "main");
  EXPECT_EQ(readable("_ZN7tessera4sort5mergeIdEEvPT_l"), "tessera::sort::merge");
  EXPECT_EQ(readable("_ZN7tessera12_GLOBAL__N_14leafEv"), "tessera::leaf");
  EXPECT_EQ(readable("_ZN7tessera2v14sort5mergeIdEEvPT_l"), "tessera::sort::merge");
  EXPECT_EQ(readable("_ZNK7tessera4View2atEl"), "tessera::View::at");
  EXPECT_EQ(readable("serial_steps.constprop.0"), "serial_steps");
  EXPECT_EQ(readable(""), "");
  EXPECT_EQ(
      readable("_ZZN7tessera7machine4Crew3runIZNS0_11depth_firstINS_6matmul7ProductINS_7Comple"
               "xIdEEE4PartEZNKS8_11share_tilesERKNS4_5ChunkIS7_EERKS9_RKNS8_6TargetEEUlS9_RT_"
               "E_EEvRKSJ_RKT0_EUliE0_EEvSN_ENUlPKviE_4_FUNEST_i"),
      "tessera::matmul::Product::share_tiles::{lambda}");
  EXPECT_EQ(readable("_ZZ4mainENKUliE_clEi"), "main::{lambda#1}::operator");
}

TEST(GpuCalls, AreReadByTimeAndSumUnderOneName) {
  const GpuCalls found = gpu_calls_of(
      "o 3 600 100 300 _ZN3app6tripleIfEEvPT_i\n"
      "o 1 400 400 400 _ZN3app6tripleIdEEvPT_i\n"
      "o 2 9000 4000 5000 [copy host to device]\n"
      "c 4 8000 1000 3000 cudaLaunchKernel\n"
      "l 5\n");
  ASSERT_EQ(found.operations.size(), 2U);
  EXPECT_EQ(found.operations[0].name, "[copy host to device]");
  const GpuCall& triple = found.operations[1];
  EXPECT_EQ(triple.name, "app::triple");
  EXPECT_EQ(triple.calls, 4);
  EXPECT_DOUBLE_EQ(triple.seconds, 1e-6);
  EXPECT_DOUBLE_EQ(triple.least, 1e-7);
  EXPECT_DOUBLE_EQ(triple.most, 4e-7);
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.lost, 5);
  EXPECT_EQ(text_of(gpu_calls_of(""), 10, 80), "");
}

TEST(GpuCalls, SayWhyThereAreNoneAndRefuseOtherText) {
  const GpuCalls found = gpu_calls_of("f libcupti.so.13 cannot be loaded\n");
  EXPECT_EQ(text_of(found, 10, 80), "\nGPUs are not profiled: libcupti.so.13 cannot be loaded\n");
  for (const char* const text : {"x\n", "o\n", "o 1 2\n", "o 0 1 1 1 name\n", "c 1 2 3 4\n"})
    EXPECT_THROW(gpu_calls_of(text), Error) << text;
}

TEST(Waits, ThreadsOfRuntimesAndSleepersDo) {
  EXPECT_TRUE(waits({"gomp_team_barrier_wait", "libgomp.so.1.0.0"}));
  EXPECT_TRUE(waits({"sched_yield", "libc.so.6"}));
  EXPECT_TRUE(waits({"", "libmpi.so.40"}));
  EXPECT_FALSE(waits({"memcpy", "libc.so.6"}));
  EXPECT_FALSE(waits({"leaf", "tessera"}));
}

/// Returns a file of samples: thread 0 alone for 30 ms, then both for 70 ms each.
std::unique_ptr<Samples> recorded() {
  auto samples = std::make_unique<Samples>();
  samples->period = 1'000'000;
  samples->perf = samples->threads = 2;
  const auto address = reinterpret_cast<std::uint64_t>(&tessera_known_function);
  std::uint64_t taken = 0;
  for (int ms = 1; ms <= 30; ++ms) samples->samples[taken++] = sample(0, ms, 0, address);
  for (int ms = 31; ms <= 100; ++ms) {
    samples->samples[taken++] = sample(0, ms, 0, address);
    samples->samples[taken++] = sample(1, ms + 0.5, 0, address);
  }
  samples->taken = taken;
  return samples;
}

TEST(ProfileOf, CountsFunctionsAndSerialWork) {
  std::ifstream maps("/proc/self/maps");
  std::ostringstream text;
  text << maps.rdbuf();
  const Profile profile = profile_of(*recorded(), text.str());
  EXPECT_EQ(profile.source, "perf events");
  EXPECT_EQ(profile.samples(), 170);
  EXPECT_EQ(profile.threads, 2);
  EXPECT_NEAR(profile.serial_of_work(), 30.0 / 170, 0.02);
  ASSERT_EQ(profile.phases.size(), 1u);
  EXPECT_EQ(profile.phases[0].phase, "program");
  ASSERT_EQ(profile.phases[0].spots.size(), 1u);
  EXPECT_EQ(profile.phases[0].spots[0].place.function, "tessera_known_function");
  const Analysed analysed{"a command", profile, {}, 2.0, 1.0};
  const std::string shown = text_of(analysed, 10, 80);
  for (const char* words : {"a command", "tessera_known_function", "100.0 %", "Amdahl", "infinite",
                            "2.00 times faster"})
    EXPECT_NE(shown.find(words), std::string::npos) << words << "\n" << shown;
  EXPECT_EQ(tables_of(analysed).size(), 3u);
}

TEST(ProfileOf, SayWhatIsLostAndRefuseNothing) {
  auto samples = recorded();
  samples->taken = most_samples + 5;
  EXPECT_EQ(profile_of(*samples, "").lost, static_cast<index_t>(most_samples) + 5 - 170);
  samples->taken = 0;
  EXPECT_THROW((void)profile_of(*samples, ""), Error);
}

}  // namespace
}  // namespace tessera::analyse
