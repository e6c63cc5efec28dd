#pragma once
// The file in which a sampled program leaves its samples: shared between libtessera_sampler.so,
// which is loaded into any program and includes nothing of Tessera, and tessera analyse.

#include <atomic>
#include <cstdint>

namespace tessera::inline v1::analyse {

/// One sample: a thread has used one more period of processor time.
struct Sample {
  std::uint64_t address;     ///< program counter
  std::int64_t nanoseconds;  ///< steady clock
  std::uint32_t thread;
  std::uint32_t phase;     ///< number of the name in Samples::phases
  std::uint64_t switches;  ///< voluntary context switches of the thread so far: it waited
};

constexpr std::uint32_t most_phases = 64, phase_length = 48;
constexpr std::uint64_t most_samples = std::uint64_t{1} << 20;
constexpr std::uint64_t samples_magic = 0x31656c706d617354U;

/// The whole file; sparse behind the samples taken.
struct Samples {
  std::uint64_t magic;
  std::int64_t period;              ///< nanoseconds of processor time between two samples
  std::atomic<std::uint32_t> perf;  ///< threads sampled by perf events; the others by timers
  std::atomic<std::uint32_t> timers;
  std::atomic<std::uint32_t> phases_used;
  std::atomic<std::uint32_t> threads;
  std::atomic<std::uint64_t> taken;  ///< including those beyond most_samples, which are lost
  std::int64_t begin, end;           ///< steady clock; end 0: the program did not end by exit()
  char phases[most_phases][phase_length];
  Sample samples[most_samples];
};

/// Variables with the paths of this file, and of one for a copy of /proc/self/maps.
inline constexpr const char* samples_variable = "TESSERA_ANALYSE_SAMPLES";
inline constexpr const char* maps_variable = "TESSERA_SAMPLE_MAPS";
/// A variable that, if set, has timers used even where perf events are permitted.
inline constexpr const char* timers_variable = "TESSERA_SAMPLE_BY_TIMERS";

}  // namespace tessera::inline v1::analyse
