#pragma once
// What --counters adds to every measurement: hardware counts of the timed part, summed over the
// ranks.

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/traced_problem.hpp"
#include "io/results.hpp"
#include "machine/counters.hpp"
#include "mpi/communicator.hpp"

namespace tessera::run {

/// Counts of one repetition; NaN where the machine does not count that.
struct Counts {
  double cycles = 0, instructions = 0, l1_misses = 0, l2_misses = 0, llc_misses = 0,
         vector_instructions = 0;
  [[nodiscard]] double cycles_per_instruction() const { return cycles / instructions; }
  [[nodiscard]] double vector_share() const { return vector_instructions / instructions; }
};

inline constexpr Counts unknown_counts{NAN, NAN, NAN, NAN, NAN, NAN};

/// Counts of a whole measurement, and where they come from.
struct Counted {
  std::string
      source;  ///< "hardware"; "simulated" where a simulator stands in, "none" where none can
  std::string reason;               ///< why there are none
  std::vector<Counts> repetitions;  ///< empty where there are none
  double accesses = NAN;            ///< simulated: loads and stores
  std::string what;                 ///< simulated: which problem; none: why not
};

/// Stands in for hardware counters where a machine has none. The laboratory has one; a program that
/// links it names it with use_simulator().
struct Simulator {
  /// Counts the misses of a traced kernel on simulated caches of this machine: one thread, the
  /// whole problem, or a smaller one of its shape where that would take more than some seconds.
  /// Local.
  std::function<Counted(const TracedProblem&)> count;
  std::function<std::string()> caches;  ///< that it simulates, for people
};
void use_simulator(Simulator simulator);

/// What the simulator counts; not_simulated() where there is none. Local.
[[nodiscard]] Counted simulated(const TracedProblem& problem);
/// Where no simulator can stand in.
[[nodiscard]] Counted not_simulated(const std::string& reason);
/// The caches that are simulated, for people.
[[nodiscard]] std::string simulated_caches();

/// Columns of the results for one repetition.
[[nodiscard]] io::Row counter_cells(const Counted& counted, const Counts& counts);
/// What of it a terminal shows: the median of the repetitions, without what the source does not
/// know.
[[nodiscard]] io::Row shown_cells(const Counted& counted);
/// The median of every count.
[[nodiscard]] Counts typical(const std::vector<Counts>& repetitions);

/// Counts what lies between begin() and end() on this rank's threads; all collective.
class Counting {
 public:
  explicit Counting(const mpi::Communicator& comm);
  void begin();
  void end();  ///< one repetition more
  [[nodiscard]] const Counted& counted() const { return counted_; }

 private:
  [[nodiscard]] Counts now() const;
  mpi::Communicator comm_;
  machine::Counters counters_;
  Counts before_;
  Counted counted_;
};

}  // namespace tessera::run
