#pragma once
// The profile of a sampled program: where its processor time goes, how much of it while one thread
// is busy, and what that means for more processors.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "lab/analyse/samples.hpp"
#include "lab/analyse/symbols.hpp"

namespace tessera::inline v1::analyse {

/// Samples of one function.
struct Spot {
  Place place;
  index_t samples = 0;
  index_t serial = 0;  ///< of them while no other thread was busy
};

struct PhaseProfile {
  std::string phase;
  index_t samples = 0, serial = 0;
  std::vector<Spot> spots;  ///< most samples first
};

struct Profile {
  std::string source;   ///< "perf events" or "timers"
  double period = 0;    ///< seconds of processor time of a sample
  double wall = 0;      ///< seconds; 0: the program was killed
  index_t threads = 0;  ///< that were sampled
  index_t lost = 0;     ///< samples beyond the capacity of the file
  index_t waiting = 0;  ///< samples of threads that waited for others, and count nowhere else
  std::vector<PhaseProfile> phases;  ///< most samples first
  std::vector<index_t> busy;         ///< busy[k]: samples while k threads were busy; busy[0] = 0

  [[nodiscard]] index_t samples() const;  ///< of busy threads
  /// Returns the share of the work that runs while one thread is busy: the serial share of a run on
  /// one processor (Amdahl 1967). NaN without samples.
  [[nodiscard]] double serial_of_work() const;
  /// Returns the share of the time of this run in which one thread is busy (Gustafson 1988).
  [[nodiscard]] double serial_of_time() const;
  /// Returns half the width of the 95 % interval of serial_of_work(): of n independent samples.
  [[nodiscard]] double serial_error() const;
  /// Returns the processors that were busy on average while any was.
  [[nodiscard]] double mean_busy() const;
};

/// Returns the samples of a file, without those that were lost. Throws Error(bad_data) if it has
/// none.
[[nodiscard]] std::vector<Sample> taken_samples(const Samples& samples);

/// Returns whether a function of a module waits for other threads or processes: those of the OpenMP
/// runtimes and MPI libraries, and the system's calls that sleep or yield.
[[nodiscard]] bool waits(const Place& place);

/// Returns for every sample the number of threads that were busy at its time; 0 for samples that
/// are not `counted`. A thread is busy between two of its counted samples unless it gave up its
/// processor of its own accord: preemption by other programs changes nothing. Samples of a thread
/// are in order of time.
[[nodiscard]] std::vector<int> busy_at(std::span<const Sample> samples,
                                       const std::vector<bool>& counted, double period);

[[nodiscard]] Profile profile_of(const Samples& samples, const std::string& maps);

/// Speed-up on `processors` of a program whose share `serial` of the work is serial (Amdahl 1967).
[[nodiscard]] double amdahl(double serial, double processors);
/// Speed-up of a problem that grows with the processors, if `serial` of the time of the run on
/// these many is serial (Gustafson 1988).
[[nodiscard]] double gustafson(double serial, double processors);

}  // namespace tessera::inline v1::analyse
