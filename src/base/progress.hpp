#pragma once
// Progress of long steps, which ProgressLine prints (progress_line.hpp).

#include <atomic>
#include <string>

#include "base/index.hpp"
#include "base/timer.hpp"
#include "base/work_done.hpp"

namespace tessera::inline v1 {

/// A whole step in the user's units, of which a share is shown: {1.6e4, "GFLOP"}.
struct ProgressAmount {
  double whole = 0;
  std::string units;
};

/// A step of known amount; 0: unknown, and not shown. Steps nest; the innermost one is shown
/// by the process that has a ProgressLine.
class Progress {
 public:
  /// What is counted: calls of update(), or work_done().
  enum class Counts { updates, bytes_read, bytes_written, steps, multiplied, placed };
  Progress(std::string name, double total, Counts counts = Counts::updates,
           ProgressAmount amount = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Sets the work that is done. Thread-safe.
  void update(double done) { done_ = done; }

  /// Returns "steps 1200 of 60000, 26.1 a second, 38 s left"; of an amount "product 41 % of 16000
  /// GFLOP, 52.1 GFLOP/s, 3 min left".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double seconds() const { return timer_.seconds(); }
  /// Returns whether it has more than one part, so that the line tells how far it is.
  [[nodiscard]] bool tells() const { return total_ > 1; }

 private:
  [[nodiscard]] index_t counted() const;
  [[nodiscard]] double done() const;
  [[nodiscard]] std::string text_of_share(double share, double elapsed) const;

  std::string name_;
  double total_;
  Counts counts_;
  ProgressAmount amount_;
  index_t from_ = 0;  ///< work_done() at the beginning
  std::atomic<double> done_{0};
  Timer timer_;
};

/// Removes the line from the terminal before something else is printed.
void clear_progress_line();
/// Prints a line to stderr where the progress line is, which is drawn again below it. Thread-safe.
void print_above_progress(const std::string& line);

}  // namespace tessera::inline v1
