#include "machine/counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/directory.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr std::uint64_t load_misses(std::uint64_t cache) {
  return cache | std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 |
         std::uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16;
}

struct Processor {
  std::string maker;
  int family = 0;
  bool wide = false;  ///< has vectors of 64 bytes
};

Processor processor() {
  Processor found;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string value = line.substr(std::min(line.size(), line.find(':') + 2));
    if (line.starts_with("vendor_id")) found.maker = value;
    if (line.starts_with("cpu family")) found.family = std::atoi(value.c_str());
    if (line.starts_with("flags")) found.wide = value.find("avx512f") != std::string::npos;
  }
  return found;
}

/// Returns the descriptor, or -1 with errno set.
int open_event(const CounterEvent& event, int thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::vector<int> living_threads() {
  std::vector<int> threads;
  for (const std::string& task : names_in("/proc/self/task")) threads.push_back(std::stoi(task));
  return threads;
}

/// Returns the count, scaled by time enabled / time running.
double value_of(int descriptor) {
  std::array<std::uint64_t, 3> words{};  // value, time enabled, time running
  if (read(descriptor, words.data(), sizeof words) != static_cast<ssize_t>(sizeof words))
    return NAN;
  if (words[2] == 0)
    return words[1] == 0 ? 0 : NAN;  // never enabled: the thread never ran; else never scheduled
  return static_cast<double>(words[0]) * static_cast<double>(words[1]) /
         static_cast<double>(words[2]);
}

}  // namespace

std::vector<CounterEvent> processor_events() {
  const Processor cpu = processor();
  return processor_events(cpu.maker, cpu.family, cpu.wide);
}

// Event codes and unit masks are from the vendors' manuals.
std::vector<CounterEvent> processor_events(const std::string& maker, int family, bool wide) {
  std::vector<CounterEvent> events{
      {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {"l1_misses", PERF_TYPE_HW_CACHE, load_misses(PERF_COUNT_HW_CACHE_L1D)}};
  const auto raw = [&](const char* name, std::uint64_t config) {
    events.push_back({name, PERF_TYPE_RAW, config});
  };
  const CounterEvent last_level{"llc_misses", PERF_TYPE_HW_CACHE,
                                load_misses(PERF_COUNT_HW_CACHE_LL)};
  if (maker == "AuthenticAMD") {
    constexpr int zen = 0x17,
                  zen4 = 0x19;  // zen4 is the family of Zen 3 and 4; only Zen 4 has wide vectors
    raw("l2_misses", 0x0864);   // demand loads that miss L2
    // L3 belongs to no core, so Linux has no generic event for it: fills from local and remote
    // memory.
    if (family >= zen) raw("llc_misses", 0x4843);
    // Packed floating-point operations of 128 to 512 bits; before Zen 4 all SSE and AVX
    // instructions.
    raw("vector_instructions", family >= zen4 && wide ? 0x3808 : 0x04cb);
  } else if (maker == "GenuineIntel") {
    raw("l2_misses", 0x10d1);  // retired loads that missed L2
    events.push_back(last_level);
    raw("vector_instructions", 0xfcc7);  // packed floating-point instructions of 128 to 512 bits
  } else {
    events.push_back(last_level);
  }
  return events;
}

Counters::Counters(const std::vector<CounterEvent>& events) {
  const std::vector<int> threads = living_threads();
  for (const CounterEvent& event : events) {
    Source source{event.name, {}};
    for (const int thread : threads) {
      const int descriptor = open_event(event, thread);
      if (descriptor >= 0) source.descriptors.push_back(descriptor);
      if (descriptor < 0 && errno != ESRCH && reason_.empty())  // a thread may have ended since
        reason_ = std::string("perf_event_open: ") + std::strerror(errno);
    }
    sources_.push_back(std::move(source));
  }
  if (any()) reason_.clear();
}

Counters::~Counters() {
  for (const Source& source : sources_) {
    for (const int descriptor : source.descriptors) close(descriptor);
  }
}

bool Counters::any() const {
  for (const Source& source : sources_) {
    if (!source.descriptors.empty()) return true;
  }
  return false;
}

std::vector<Counters::Count> Counters::read() const {
  std::vector<Count> counts;
  for (const Source& source : sources_) {
    double sum = source.descriptors.empty() ? NAN : 0;
    for (const int descriptor : source.descriptors) sum += value_of(descriptor);
    counts.push_back({source.event, sum});
  }
  return counts;
}

}  // namespace tessera::inline v1::machine
