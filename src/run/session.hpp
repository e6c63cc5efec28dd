#pragma once
// Run of a sub-command: its points, timings, verdicts, table and results file.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/progress.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "io/run_writer.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"
#include "mpi/region.hpp"
#include "run/ceilings.hpp"
#include "run/counting.hpp"
#include "run/device.hpp"
#include "run/energy.hpp"
#include "run/options.hpp"
#include "run/stop.hpp"

namespace tessera::inline v1::run {

/// Result of a check; it passes only if ratio <= tolerance, so that NaN fails.
struct Verdict {
  std::string method;  ///< "freivalds", "hash", ...
  double ratio = 0;
  double tolerance = 0;
  std::optional<double> error = std::nullopt;  ///< relative, where a method rounds on purpose
  [[nodiscard]] bool passed() const { return ratio <= tolerance; }
};

/// Timings and description of one configuration on this rank.
struct Measured {
  std::vector<double> seconds;      ///< per repetition: the slowest rank's, the same on every rank
  std::vector<mpi::Phases> phases;  ///< of this rank, per repetition
  std::vector<double> kernels;      ///< per repetition, time in device kernels; empty if none ran
  mpi::Phases once;                 ///< phases executed once: read, verify, write
  std::vector<io::Cell> columns;    ///< description of the point: m, n, type, kernel, ...
  std::set<std::string> unused;     ///< columns without meaning here; "-" on the terminal
  double work = 0;                  ///< per repetition, all ranks: FLOP, bytes, keys, points
  std::string
      rate_units;       ///< "GFLOP/s", "GB/s", ...: rate = work / seconds / 1e9 (or 1e6 for "M...")
  std::string ceiling;  ///< name in the machine's ceilings; "" for none
  double per_ceiling = 1;  ///< ceiling units consumed per unit of work
  std::optional<Verdict> verdict;
  std::optional<Counted> counted;  ///< with --counters
  Energy energy;                   ///< of the repetitions; on rank 0 only
  std::function<Counted()> simulated_counts =
      {};  ///< called on rank 0 if hardware counters are missing; returns simulated counts
  std::vector<io::TableRows> tables =
      {};  ///< rank 0's rows for further tables; the point is prepended to each
};

/// Returns whether the command has --timeline and it is given.
[[nodiscard]] bool keeps_timeline(const Values& point);

/// Clock of a repetition, stopped during aside().
class Clock {
 public:
  Clock(const mpi::Communicator& comm, mpi::Phases& phases, EnergyReading& energy)
      : comm_(comm), phases_(phases), energy_(energy) {}
  /// Runs work, which may communicate, untimed: starts when all ranks have arrived and resumes the
  /// clock when all are done. The wait is phase "waiting". Collective.
  template <class Work>
  void aside(const Work& work) {
    {
      const mpi::PhaseScope scope(phases_, "waiting");
      comm_.barrier();
    }
    const Timer untimed;
    energy_.pause();
    work();
    comm_.barrier();
    energy_.resume();
    untimed_ += untimed.seconds();
  }
  [[nodiscard]] double seconds() const { return timer_.seconds() - untimed_; }

 private:
  const mpi::Communicator& comm_;
  mpi::Phases& phases_;
  EnergyReading& energy_;
  double untimed_ = 0;
  Timer timer_;
};

/// Times `repetition(phases)`, or `repetition(phases, clock)`, after warm-ups: untimed prepare(),
/// barrier, run, maximum over ranks. Throws Stopped if asked to stop before the last repetition.
/// Collective.
template <class Prepare, class F>
[[nodiscard]] Measured measure(const mpi::Communicator& comm, const Values& point,
                               const Prepare& prepare, const F& repetition) {
  Measured result;
  const index_t warmups = point.integer("warmups");
  std::optional<Counting> counting;
  if (point.flag("counters")) counting.emplace(comm);
  EnergyReading energy;
  Progress progress("repetitions", static_cast<double>(warmups + point.integer("repetitions")));
  for (index_t r = -warmups; r < point.integer("repetitions"); ++r) {
    if (r > -warmups && stop_requested(comm)) throw Stopped();
    mpi::Phases phases;
    {
      const mpi::AccountScope account("prepare");
      prepare();
      if (counting) counting->begin();
      energy.begin(comm);
      comm.barrier();
    }
    const mpi::AccountScope account("repetitions");
    const mpi::Region region("repetitions");
    if (keeps_timeline(point) && r + 1 == point.integer("repetitions")) phases.watch();
    Clock clock(comm, phases, energy);
    if constexpr (std::is_invocable_v<F, mpi::Phases&, Clock&>)
      repetition(phases, clock);
    else
      repetition(phases);
    const double seconds = comm.max(clock.seconds());
    energy.end(r >= 0);
    if (counting && r >= 0) counting->end();
    progress.update(static_cast<double>(r + warmups + 1));
    if (r < 0) continue;
    result.seconds.push_back(seconds);
    result.phases.push_back(std::move(phases));
  }
  if (counting) result.counted = counting->counted();
  result.energy = energy.result(comm, result.seconds);
  return result;
}

/// Times a pass that runs once regardless of --repetitions, such as a pass from file to file:
/// barrier, run, maximum over ranks. Collective.
template <class F>
[[nodiscard]] Measured measure_once(const mpi::Communicator& comm, const Values& point,
                                    const F& pass) {
  Measured result;
  mpi::Phases& phases = result.phases.emplace_back();
  std::optional<Counting> counting;
  if (point.flag("counters")) counting.emplace(comm);
  if (counting) counting->begin();
  EnergyReading energy;
  energy.begin(comm);
  comm.barrier();
  if (keeps_timeline(point)) phases.watch();
  const mpi::AccountScope account("repetitions");
  const mpi::Region region("repetitions");
  const Timer timer;
  pass(phases);
  result.seconds = {comm.max(timer.seconds())};
  energy.end(true);
  result.energy = energy.result(comm, result.seconds);
  if (!counting) return result;
  counting->end();
  result.counted = counting->counted();
  return result;
}

/// Returns the OpenMP threads of this point: --threads, or OpenMP's default.
[[nodiscard]] int threads_of(const Values& point);

class Session {
 public:
  /// Its arguments must outlive it. Collective if there is a results file.
  Session(const mpi::Communicator& comm, const OptionSet& options, const Parsed& parsed,
          const std::vector<std::string>& arguments);

  /// Returns the key that identifies a point, with the threads that run instead of those asked for.
  /// Local.
  [[nodiscard]] std::string identity(const Values& point) const;

  /// Returns whether the results file contains this point and --again is not given. Collective if
  /// there is a results file.
  [[nodiscard]] bool has(const Values& point) const;
  void skip(const Values& point);

  /// Raises this rank's planned peak of resident memory, bytes, which the results list next to the
  /// measured one.
  void plan_memory(index_t bytes) { planned_ = std::max(planned_, bytes); }

  /// Adds a point to the table and to the results file. Collective.
  void record(const Values& point, Measured measured);

  /// Appends rows to further tables of this run in the results file, if there is one. Collective.
  void record_tables(const std::vector<io::TableRows>& tables);

  /// Prints the table and the location of the results (rank 0). Collective.
  void finish();

  /// Returns the identity of a point in every table of the results.
  [[nodiscard]] std::string key(const Values& point) const;

  /// Returns attributes for an output file: provenance and the point's verdict. Collective.
  [[nodiscard]] std::map<std::string, io::Value> attributes(const Measured& measured);
  [[nodiscard]] const Ceilings& ceilings() const { return ceilings_; }
  /// Returns the node's ceiling for this job's ranks and threads, summed over the nodes; nullopt if
  /// not measured. Collective.
  [[nodiscard]] std::optional<double> ceiling(const std::string& name, int threads) const;

 private:
  [[nodiscard]] std::vector<io::TableRows> rows(const Values& point, const Measured& measured,
                                                const Summary& summary, double share) const;
  [[nodiscard]] std::vector<io::Cell> swept_cells(const Values& point,
                                                  const Measured& measured) const;
  void count(const Values& point, const Measured& measured, std::vector<io::TableRows>& tables);
  void open_results();
  void find_provenance();
  void append(const std::vector<io::TableRows>& tables);
  void show(const Values& point, const Measured& measured, const Summary& summary, double share);
  [[nodiscard]] std::vector<io::Row> timeline_rows(const std::string& key,
                                                   const Measured& measured) const;
  [[nodiscard]] std::vector<Ceiling> machine_rows() const;
  [[nodiscard]] std::vector<io::TableRows> machine_tables() const;
  [[nodiscard]] std::vector<std::string> phase_names(const mpi::Phases& phases) const;
  [[nodiscard]] std::vector<io::Row> wall_rows() const;
  [[nodiscard]] std::vector<io::Row> phase_rows(const std::string& key,
                                                const Measured& measured) const;

  mpi::Communicator comm_;
  const OptionSet& options_;
  const Parsed& parsed_;
  const std::vector<std::string>& arguments_;
  std::string start_time_;
  std::string results_;
  std::optional<io::RunWriter> writer_;  ///< rank 0, from the first rows on
  std::vector<Option> swept_;            ///< numeric options that are an axis of this run
  std::set<std::string> known_;
  const machine::Gpus* gpus_ = nullptr;          ///< GPUs that this run may use
  std::map<std::string, io::Value> provenance_;  ///< empty before the first write
  Ceilings ceilings_;
  std::optional<Table> table_;
  std::size_t settings_ = 0;   ///< its columns before the measurements
  bool shows_energy_ = false;  ///< it has columns of energy
  std::optional<Table> counters_;
  std::size_t counter_settings_ = 0;  ///< its first columns, which are settings
  std::vector<std::string> limits_;   ///< of each point, what limited it
  std::string no_counters_;           ///< why hardware counts are missing
  int skipped_ = 0;
  index_t planned_ = 0;
  bool wrote_ranks_ = false;
  bool asks_repetitions_ = false;  ///< --repetitions is a flag
  bool ran_once_ = false;          ///< some point has fewer repetitions than the option sets
  bool repeats_ = false;           ///< some point has more than one
};

}  // namespace tessera::inline v1::run
