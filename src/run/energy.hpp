#pragma once
// Energy of the timed part of a point, as the counters of the nodes report it: processors once a
// node, GPUs that ranks use.

#include <optional>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "machine/energy.hpp"
#include "mpi/communicator.hpp"
#include "run/roll_call.hpp"

namespace tessera::inline v1::run {

/// Energy of a domain ("package", "dram", "platform", "gpu") in the repetitions of a point, summed
/// over its counters on all nodes.
struct DomainEnergy {
  std::string domain;
  std::string source;           ///< "powercap", "NVML", "NVML power"
  index_t counters = 0;         ///< on all nodes
  double update = 0;            ///< seconds between two updates of a counter
  std::vector<double> joules;   ///< per repetition; NaN where a counter failed
  std::vector<double> seconds;  ///< of each repetition's window, mean of the readers
  double idle_watts = 0;        ///< the least power seen in the run; NaN: unknown
  std::string reason;           ///< why a counter failed

  /// Sums of the repetitions.
  struct Total {
    double joules = 0, seconds = 0;
    [[nodiscard]] double watts() const { return joules / seconds; }
  };
  [[nodiscard]] Total total() const;
  /// Returns whether a window is long enough for its energy to be within 10 % of what the counter
  /// would show if it were continuous: ten updates.
  [[nodiscard]] bool can_measure(double window) const { return window >= 10 * update; }
};

/// Energy by domain; empty where no counter can be read.
using Energy = std::vector<DomainEnergy>;

/// Energy of all domains but the platform, which contains others.
struct NodesEnergy {
  double joules = 0;  ///< a repetition; NaN if a domain is unknown or too short
  double watts = 0;
  double idle_share = 0;  ///< of the joules
};
[[nodiscard]] NodesEnergy sum_of(const Energy& energy);

/// Scope of a command on ranks: says which of them read counters. `neighbours`: of this rank.
class EnergyScope {
 public:
  explicit EnergyScope(const Neighbours& neighbours);
  ~EnergyScope();
  EnergyScope(const EnergyScope&) = delete;
  EnergyScope& operator=(const EnergyScope&) = delete;
};

/// Reads the counters in the windows between begin() and end() of the repetitions of a point,
/// except those of an aside. Without counters on any rank no member communicates or waits.
class EnergyReading {
 public:
  /// Opens the counters of this rank. Local.
  EnergyReading();
  /// Begins the window of a repetition when all ranks have arrived. Collective.
  void begin(const mpi::Communicator& comm);
  /// Ends it; `keep` appends it to the result. Precondition: all ranks are done. Local.
  void end(bool keep);
  /// Interrupt a window. Local.
  void pause();
  void resume();
  /// Returns the energy on rank 0, nothing elsewhere; `seconds`: of the repetitions, the same on
  /// every rank. The first call for a point long enough to measure lets all ranks sleep for 30 ms,
  /// of which it takes the idle power. Collective.
  [[nodiscard]] Energy result(const mpi::Communicator& comm, const std::vector<double>& seconds);

 private:
  void measure_idle();
  [[nodiscard]] std::string text() const;

  std::optional<machine::EnergyMeter> meter_;        ///< of ranks that read
  std::vector<machine::EnergyMeter::Windows> kept_;  ///< by repetition
};

/// Returns why this node's processors do not report energy; "" if they do. Local.
[[nodiscard]] std::string energy_missing();

/// Returns the rows of the results table `energy` of a point: by domain, every repetition that is
/// long enough, and their mean as repetition -1.
[[nodiscard]] std::vector<io::Row> energy_rows(const std::string& point, const Energy& energy);

}  // namespace tessera::inline v1::run
