#pragma once
// Work and span of a fork-join computation, from one serial run of the production code: while a
// Recorder listens on a thread, fork_join runs both sides sequentially there and reports the
// boundaries of strands to it.
//
// Burdened span and bounds follow Cilkview (He, Leiserson and Leiserson 2010), with task-runtime
// costs measured on the machine instead of a constant.

#include <cstddef>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Costs of the task runtime, in seconds.
struct TaskCosts {
  double fork = 0;   ///< creation of a task
  double join = 0;   ///< wait for a task, beyond its work
  double steal = 0;  ///< from the creation of a task to its start on another thread
  /// Returns the cost that a fork adds to the critical path if its task is stolen.
  [[nodiscard]] double burden() const { return fork + steal + join; }
};

/// Seconds, or units of the recorder's clock times 1e-9.
struct WorkSpan {
  double work = 0;           ///< sum over all strands: T1, the time on one processor
  double span = 0;           ///< critical path: the time on infinitely many processors
  double burdened_span = 0;  ///< critical path if every fork costs the burden
  index_t forks = 0;

  [[nodiscard]] double parallelism() const { return span > 0 ? work / span : 1; }
  [[nodiscard]] double burdened_parallelism() const {
    return burdened_span > 0 ? work / burdened_span : 1;
  }
};

struct SpeedupBounds {
  double lower = 1, upper = 1;
};

/// Returns bounds of the speed-up of a greedy scheduler on `processors` processors. Upper: min(P,
/// parallelism). Lower: T1 / (T1' / P + 1.7 (1 - 1/P) burdened span), where T1' = T1 + forks *
/// (fork + join): OpenMP tasks are not as cheap as the calls that Cilkview could neglect.
[[nodiscard]] SpeedupBounds speedup_bounds(const WorkSpan& computation, int processors,
                                           const TaskCosts& costs);

/// Records the forks of the thread that constructed it, until destruction.
class Recorder {
 public:
  using Clock = index_t (*)();  ///< nanoseconds, monotonic

  /// Returns steady-clock time. Cheap to read, but time taken by other processes counts as work.
  [[nodiscard]] static index_t steady_nanoseconds();
  /// Returns the CPU time of this thread. Reading is a system call: for strands of many
  /// microseconds.
  [[nodiscard]] static index_t thread_nanoseconds();

  /// strands: the least times of the strands in earlier recordings of the same computation, in
  /// their order, or none; a strand counts with the least time so far, which is kept there.
  Recorder(double burden_seconds, Clock clock, std::vector<double>* strands = nullptr);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// One type-erased side of a fork, which keeps the code of unrecorded forks small.
  struct Side {
    void (*call)(void* self);
    void* self;
  };
  void fork(Side left, Side right);

  /// Scope guard: emulates a team of `threads` for team(); a nested team has no effect.
  class Team {
   public:
    Team(Recorder& recorder, int threads);
    ~Team() { recorder_.team_ = before_; }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

   private:
    Recorder& recorder_;
    int before_;
  };
  [[nodiscard]] int team() const { return team_; }

  /// Ends the last strand and returns the totals.
  [[nodiscard]] WorkSpan finish();

 private:
  struct Path {
    double span = 0, burdened = 0;
  };
  [[nodiscard]] double time_of_empty_strand();
  [[nodiscard]] double least_of_strand(double spent);
  void begin_strand() { begun_ = clock_(); }
  void end_strand();
  [[nodiscard]] Path branch(Side side);

  Clock clock_;
  double burden_;  ///< nanoseconds
  index_t begun_ = 0;
  double work_ = 0;
  index_t forks_ = 0;
  Path path_;
  int team_ = 1;
  double empty_strand_ = 0;  ///< clock reading of an empty strand, subtracted from every strand
  std::vector<double>* strands_ = nullptr;  ///< nanoseconds
  std::size_t strand_ = 0;                  ///< of this recording
};

inline constinit thread_local Recorder* listening_recorder = nullptr;
/// Returns the recorder of this thread, or nullptr.
[[nodiscard]] inline Recorder* recorder() { return listening_recorder; }

/// Returns work and span of f(), run once on this thread.
template <class F>
[[nodiscard]] WorkSpan record(double burden_seconds, F&& f,
                              Recorder::Clock clock = Recorder::steady_nanoseconds,
                              std::vector<double>* strands = nullptr) {
  Recorder listener(burden_seconds, clock, strands);
  f();
  return listener.finish();
}

}  // namespace tessera::inline v1::machine
