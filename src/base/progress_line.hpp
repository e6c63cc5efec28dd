#pragma once
// Prints progress: one line that disappears on a terminal, a line a minute in a log.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/timer.hpp"

namespace tessera::inline v1 {

/// Where and how often progress is printed.
struct ProgressTimes {
  bool terminal = false;  ///< rewrites one line
  double first = 2;       ///< seconds of a step before it is shown
  double every = 0.25;    ///< seconds between two lines
};
/// Returns those of stderr: of a terminal, or a line a minute.
[[nodiscard]] ProgressTimes progress_times();

/// Prints the progress of this process to stderr, in a thread, during its lifetime.
class ProgressLine {
 public:
  /// Returns the name of what this process is doing; may be called by another thread.
  using Phase = std::function<const char*()>;
  /// Where no step tells more, the line has the phase and its seconds so far.
  explicit ProgressLine(const ProgressTimes& times, Phase phase = {});
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch(const ProgressTimes& times);
  [[nodiscard]] std::string phase_text(double youngest);

  Phase phase_;
  std::string known_phase_;
  Timer in_phase_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera::inline v1
