#pragma once
// Competition for this process's cores. Waiting threads that spin keep the cores from those that
// they wait for; where threads compete they sleep after a short spin.

#include <chrono>
#include <optional>

namespace tessera::inline v1::machine {

/// Returns whether the user asks for sleep: OMP_WAIT_POLICY=passive.
[[nodiscard]] bool is_asked_to_sleep() noexcept;
/// Returns whether waiting threads of this process should sleep after a short spin: as last set,
/// and always with OMP_WAIT_POLICY=passive. Thread-safe.
[[nodiscard]] bool is_contended() noexcept;
void set_contended(bool contended) noexcept;

/// Paces a polling loop: yields without contention; otherwise returns at once for 50 us, then
/// sleeps a quarter of the time waited so far, at most 0.2 ms, which may delay the loop's end by
/// that much.
class Patience {
 public:
  void wait() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_{};  // of the first call under contention; 0: none yet
};

/// Threads that compute.
struct ThreadLoad {
  int on_units = 1;  ///< of the processes of the job on the same processing units
  int on_host = 1;   ///< of the processes of the job on this host
};

/// Returns whether the job's threads exceed the processing units or the quota of its control group
/// (none: unlimited). units: 0 if unknown.
[[nodiscard]] bool is_overcommitted(const ThreadLoad& load, int units, std::optional<double> quota);

/// Decides from the seconds that this process's threads waited for a core whether others compete
/// for it: more than 5 % of an interval; less than that for a second ends it.
class ContentionJudge {
 public:
  ContentionJudge() = default;
  /// Begins with what the process has met since its start: contention if it waited more than half
  /// as long as it ran. Both in seconds.
  ContentionJudge(double waited, double ran) noexcept : contended_(waited > ran / 2) {}
  /// waited: in the interval, NaN if unknown. Both in seconds.
  bool judge(double waited, double interval) noexcept;
  [[nodiscard]] bool is_contended() const noexcept { return contended_; }

 private:
  bool contended_ = false;
  double quiet_ = 0;  ///< seconds below the limit
};

}  // namespace tessera::inline v1::machine
