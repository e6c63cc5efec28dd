#pragma once
// Work and span of a fork-join computation, from one serial run of the very code that runs in
// parallel: while a Recorder listens on a thread, fork_join runs both sides in turn there and tells
// it where strands begin and end.
//
// Burdened span and bounds follow Cilkview (He, Leiserson and Leiserson 2010), with costs of the
// task runtime that are measured on the machine instead of a constant.

#include "base/index.hpp"

namespace tessera::machine {

/// Seconds that the task runtime takes.
struct TaskCosts {
  double fork = 0;   ///< to make a task
  double join = 0;   ///< to wait for one, beyond its work
  double steal = 0;  ///< from a task's making to its begin on another thread
  /// What a fork puts on the longest path when its task is stolen.
  [[nodiscard]] double burden() const { return fork + steal + join; }
};

/// In seconds, or in the units of the recorder's clock times 1e-9.
struct WorkSpan {
  double work = 0;           ///< of all strands: the time of one processor
  double span = 0;           ///< of the longest path: the time of infinitely many
  double burdened_span = 0;  ///< of the longest path where every fork costs the burden
  index_t forks = 0;

  [[nodiscard]] double parallelism() const { return span > 0 ? work / span : 1; }
  [[nodiscard]] double burdened_parallelism() const {
    return burdened_span > 0 ? work / burdened_span : 1;
  }
};

struct SpeedupBounds {
  double lower = 1, upper = 1;
};

/// The speed-up of a greedy scheduler on so many processors lies between them. Upper: min(P,
/// parallelism). Lower: T1 / (T1' / P + 1.7 (1 - 1/P) burdened span), where T1' = T1 + forks *
/// (fork + join): tasks of OpenMP are not as cheap as the calls that Cilkview could neglect.
[[nodiscard]] SpeedupBounds speedup_bounds(const WorkSpan& computation, int processors,
                                           const TaskCosts& costs);

/// Listens to the forks of the thread that made it, until it dies.
class Recorder {
 public:
  using Clock = index_t (*)();  ///< nanoseconds, never falling

  /// A reading is cheap; what other processes take of the core counts as work.
  [[nodiscard]] static index_t steady_nanoseconds();
  /// The time that this thread ran. A reading is a system call: for strands of many microseconds.
  [[nodiscard]] static index_t thread_nanoseconds();

  Recorder(double burden_seconds, Clock clock);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// One side of a fork, its type forgotten: the code of a fork stays small where nobody listens.
  struct Side {
    void (*call)(void* self);
    void* self;
  };
  void fork(Side left, Side right);

  /// What team() says meanwhile, as if so many threads were there; a team inside a team is none.
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

  /// Ends the last strand.
  [[nodiscard]] WorkSpan finish();

 private:
  struct Path {
    double span = 0, burdened = 0;
  };
  [[nodiscard]] double time_of_empty_strand();
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
  double empty_strand_ =
      0;  ///< what the clock says of a strand without work; taken off every strand
};

inline constinit thread_local Recorder* listening_recorder = nullptr;
/// Who listens on this thread; mostly nobody.
[[nodiscard]] inline Recorder* recorder() { return listening_recorder; }

/// Work and span of f(), run once on this thread.
template <class F>
[[nodiscard]] WorkSpan record(double burden_seconds, F&& f,
                              Recorder::Clock clock = Recorder::steady_nanoseconds) {
  Recorder listener(burden_seconds, clock);
  f();
  return listener.finish();
}

}  // namespace tessera::machine
