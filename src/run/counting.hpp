#pragma once
// Hardware counts of the timed part for --counters, summed over the ranks.

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/traced_problem.hpp"
#include "io/results.hpp"
#include "machine/counters.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::run {

/// Counts of one repetition; NaN where the machine lacks the event.
struct Counts {
  double cycles = 0, instructions = 0, l1_misses = 0, l2_misses = 0, llc_misses = 0,
         vector_instructions = 0;
  [[nodiscard]] double cycles_per_instruction() const { return cycles / instructions; }
  [[nodiscard]] double vector_share() const { return vector_instructions / instructions; }
};

inline constexpr Counts unknown_counts{NAN, NAN, NAN, NAN, NAN, NAN};

/// Counts of a whole measurement and their source.
struct Counted {
  std::string source;               ///< "hardware", "simulated" (by a Simulator), or "none"
  std::string reason;               ///< why hardware counts are missing
  std::vector<Counts> repetitions;  ///< empty if none were taken
  double accesses = NAN;            ///< simulated: loads and stores
  std::string what;                 ///< simulated: the traced problem; none: the reason
};

/// Substitute for hardware counters that a machine lacks. The laboratory implements it; a program
/// that links it registers it with use_simulator().
struct Simulator {
  /// Counts the misses of a traced kernel on simulated caches of this machine: one thread, the
  /// whole problem or, if that would take more than a few seconds, a smaller one of the same shape.
  /// Local.
  std::function<Counted(const TracedProblem&)> count;
  std::function<std::string()> caches;  ///< description of the simulated caches
};
void use_simulator(Simulator simulator);

/// Returns the simulator's counts; not_simulated() without a simulator. Local.
[[nodiscard]] Counted simulated(const TracedProblem& problem);
/// Returns unknown counts with source "none" and the reason.
[[nodiscard]] Counted not_simulated(const std::string& reason);
/// Returns a description of the simulated caches, "none" without a simulator.
[[nodiscard]] std::string simulated_caches();

/// Returns the results columns of one repetition.
[[nodiscard]] io::Row counter_cells(const Counted& counted, const Counts& counts);
/// Returns the columns for the terminal: medians over the repetitions, without those that the
/// source does not provide.
[[nodiscard]] io::Row shown_cells(const Counted& counted);
/// Returns the median of every count.
[[nodiscard]] Counts typical(const std::vector<Counts>& repetitions);

/// Counter of the events between begin() and end() on this rank's threads. All members are
/// collective.
class Counting {
 public:
  explicit Counting(const mpi::Communicator& comm);
  void begin();
  void end();  ///< appends one repetition
  [[nodiscard]] const Counted& counted() const { return counted_; }

 private:
  [[nodiscard]] Counts now() const;
  mpi::Communicator comm_;
  machine::Counters counters_;
  Counts before_;
  Counted counted_;
};

}  // namespace tessera::inline v1::run
