#include "machine/work_span.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace tessera::machine {
namespace {

constexpr double nanosecond = 1e-9;
// Of Cilkview's published tables: 10 of 11 rows are met to the last digit.
constexpr double steal_factor = 1.7;

/// The median distance of two readings, so that the sum over very many short strands has no bias.
double cost_of(Recorder::Clock clock) {
  std::array<index_t, 257> apart{};
  for (index_t& distance : apart) {
    const index_t before = clock();
    distance = clock() - before;
  }
  std::nth_element(apart.begin(), apart.begin() + apart.size() / 2, apart.end());
  return static_cast<double>(apart[apart.size() / 2]);
}

}  // namespace

SpeedupBounds speedup_bounds(const WorkSpan& computation, int processors, const TaskCosts& costs) {
  const double p = processors;
  if (computation.work <= 0 || processors <= 1) return {};
  const double tasks = static_cast<double>(computation.forks) * (costs.fork + costs.join);
  const double slowest =
      (computation.work + tasks) / p + steal_factor * (1 - 1 / p) * computation.burdened_span;
  return {std::min(computation.work / slowest, p), std::min(p, computation.parallelism())};
}

index_t Recorder::steady_nanoseconds() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

index_t Recorder::thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return index_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Recorder::Recorder(double burden_seconds, Clock clock)
    : clock_(clock), burden_(burden_seconds / nanosecond), tick_(cost_of(clock)) {
  TESSERA_EXPECTS(listening_recorder == nullptr);
  listening_recorder = this;
  begin_strand();
}

Recorder::~Recorder() { listening_recorder = nullptr; }

Recorder::Team::Team(Recorder& recorder, int threads) : recorder_(recorder), before_(recorder.team_) {
  if (before_ == 1) recorder_.team_ = std::max(1, threads);
}

void Recorder::end_strand() {
  const double spent = static_cast<double>(clock_() - begun_) - tick_;
  work_ += spent;
  path_.span += spent;
  path_.burdened += spent;
}

Recorder::Path Recorder::branch(Side side) {
  path_ = {};
  begin_strand();
  side.call(side.self);
  end_strand();
  return path_;
}

void Recorder::fork(Side left, Side right) {
  end_strand();
  ++forks_;
  const Path before = path_;
  const Path child = branch(left);
  const Path continuation = branch(right);
  path_.span = before.span + std::max(child.span, continuation.span);
  path_.burdened = before.burdened + burden_ + std::max(child.burdened, continuation.burdened);
  begin_strand();
}

WorkSpan Recorder::finish() {
  end_strand();
  const auto seconds = [](double ticks) { return std::max(0.0, ticks) * nanosecond; };
  const WorkSpan found{seconds(work_), seconds(path_.span), seconds(path_.burdened), forks_};
  begin_strand();
  return found;
}

}  // namespace tessera::machine
