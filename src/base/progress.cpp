#include "base/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/progress_line.hpp"
#include "base/table.hpp"
#include "base/text.hpp"

namespace tessera::inline v1 {
namespace {

/// The steps of this process, outermost first.
struct Steps {
  std::mutex mutex;
  std::vector<const Progress*> all;
};

constinit std::atomic<bool> drawn{false};  // whether a line is on the terminal

Steps& steps() {
  static Steps one;
  return one;
}

/// Returns the line for the innermost step and the outermost one around it; for the phase instead
/// if the innermost does not tell how far it is. Empty if that is too young. Precondition: the
/// mutex is held.
std::string line_of(const Steps& all, double youngest, const std::string& phase) {
  if (all.all.empty()) return phase;
  const Progress& inner = *all.all.back();
  const Progress& outer = *all.all.front();
  const std::string around = outer.tells() ? outer.text() : "";
  const auto within = [&](const std::string& text) {
    return around.empty() ? text : around + ": " + text;
  };
  if (!inner.tells()) return phase.empty() ? "" : within(phase);
  if (inner.seconds() < youngest) return "";
  return &inner == &outer ? inner.text() : within(inner.text());
}

}  // namespace

Progress::Progress(std::string name, double total, Counts counts, ProgressAmount amount)
    : name_(std::move(name)), total_(total), counts_(counts), amount_(std::move(amount)) {
  from_ = counted();
  if (total <= 0) return;
  const std::lock_guard lock(steps().mutex);
  steps().all.push_back(this);
}

Progress::~Progress() {
  if (total_ <= 0) return;
  const std::lock_guard lock(steps().mutex);
  std::erase(steps().all, this);
  clear_progress_line();
}

index_t Progress::counted() const {
  switch (counts_) {
    case Counts::bytes_read:
      return work_done().bytes_read;
    case Counts::bytes_written:
      return work_done().bytes_written;
    case Counts::steps:
      return work_done().steps;
    case Counts::multiplied:
      return work_done().multiplied;
    case Counts::placed:
      return work_done().placed;
    case Counts::updates:
      break;
  }
  return 0;
}

double Progress::done() const {
  const double done =
      counts_ == Counts::updates ? done_.load() : static_cast<double>(counted() - from_);
  return std::clamp(done, 0.0, total_);
}

std::string Progress::text() const {
  const double now = done(), elapsed = seconds();
  if (amount_.whole > 0) return text_of_share(now / total_, elapsed);
  const bool bytes = counts_ == Counts::bytes_read || counts_ == Counts::bytes_written;
  const auto amount = [&](double some) {
    return bytes ? human_bytes(some) : fmt::format("{:.0f}", some);
  };
  const std::string line = fmt::format("{} {} of {}", name_, amount(now), amount(total_));
  if (now <= 0 || elapsed <= 0) return fmt::format("{}, {:.0f} s so far", line, elapsed);
  const double rate = now / elapsed;
  return fmt::format("{}, {}, {} left", line,
                     bytes ? human_bytes(rate) + "/s" : human_number(rate) + " a second",
                     human_seconds((total_ - now) / rate));
}

std::string Progress::text_of_share(double share, double elapsed) const {
  const std::string whole = fmt::format("{} {}", human_number(amount_.whole), amount_.units);
  if (share <= 0 || elapsed <= 0)
    return fmt::format("{} of {}, {:.0f} s so far", name_, whole, elapsed);
  return fmt::format("{} {:.0f} % of {}, {} {}/s, {} left", name_, 100 * share, whole,
                     human_number(share * amount_.whole / elapsed), amount_.units,
                     human_seconds((1 / share - 1) * elapsed));
}

ProgressTimes progress_times() {
  constexpr double minute = 60;
  if (isatty(STDERR_FILENO) != 0) return {.terminal = true};
  return {.terminal = false, .first = 2, .every = minute};
}

ProgressLine::ProgressLine(const ProgressTimes& times, Phase phase)
    : phase_(std::move(phase)), thread_([this, times] { watch(times); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  clear_progress_line();
}

/// Returns "verify, 5 s so far"; "" if the phase is too young or unknown.
std::string ProgressLine::phase_text(double youngest) {
  if (!phase_) return "";
  const char* const phase = phase_();
  if (phase != known_phase_) {
    known_phase_ = phase;
    in_phase_.restart();
  }
  const double seconds = in_phase_.seconds();
  return seconds < youngest ? "" : fmt::format("{}, {:.0f} s so far", phase, seconds);
}

void ProgressLine::watch(const ProgressTimes& times) {
  std::unique_lock lock(mutex_);
  while (
      !wake_.wait_for(lock, std::chrono::duration<double>(times.every), [this] { return stop_; })) {
    const std::string phase = phase_text(times.first);
    Steps& all = steps();
    const std::lock_guard guard(all.mutex);
    const std::string line = line_of(all, times.first, phase);
    if (line.empty()) continue;
    if (!times.terminal) {
      fmt::print(stderr, "progress: {}\n", line);
      continue;
    }
    drawn = true;
    fmt::print(stderr, "\r\033[K{}", line.substr(0, terminal_columns() - 1));
    std::fflush(stderr);
  }
}

void print_above_progress(const std::string& line) {
  const std::lock_guard guard(steps().mutex);  // no progress is drawn in between
  clear_progress_line();
  fmt::print(stderr, "{}\n", line);
}

void clear_progress_line() {
  constexpr std::string_view erasure = "\r\033[K";
  if (drawn.exchange(false)) [[maybe_unused]]
    const auto written = write(STDERR_FILENO, erasure.data(), erasure.size());
}

}  // namespace tessera::inline v1
