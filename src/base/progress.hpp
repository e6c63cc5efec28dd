#pragma once
// Progress of long steps: one line that disappears on a terminal, a line a minute in a log.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/index.hpp"
#include "base/timer.hpp"

namespace tessera {

/// What this process has done so far, counted where it happens.
struct WorkDone {
  std::atomic<index_t> bytes_read{0}, bytes_written{0}, steps{0};
};
[[nodiscard]] WorkDone& work_done();

/// A step of known amount; 0: unknown, and not shown. Steps nest; the innermost one is shown
/// by the process that has a ProgressLine.
class Progress {
 public:
  /// What is counted: calls of update(), or work_done().
  enum class Counts { updates, bytes_read, bytes_written, steps };
  Progress(std::string name, double total, Counts counts = Counts::updates);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Sets the work that is done. Thread-safe.
  void update(double done) { done_ = done; }

  /// Returns "steps 1200 of 60000, 26.1 a second, 38 s left".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double seconds() const { return timer_.seconds(); }
  [[nodiscard]] double total() const { return total_; }

 private:
  [[nodiscard]] index_t counted() const;
  [[nodiscard]] double done() const;

  std::string name_;
  double total_;
  Counts counts_;
  index_t from_ = 0;  ///< work_done() at the beginning
  std::atomic<double> done_{0};
  Timer timer_;
};

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
  explicit ProgressLine(const ProgressTimes& times);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch(const ProgressTimes& times);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

/// Removes the line from the terminal before something else is printed.
void clear_progress_line();

}  // namespace tessera
