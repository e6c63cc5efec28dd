#include "machine/work_span.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "machine/fork_observer.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr double nanosecond = 1e-9;
// Fitted to Cilkview's published tables: 10 of 11 rows agree to the last digit.
constexpr double steal_factor = 1.7;

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
  return duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

index_t Recorder::thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return index_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Recorder::Recorder(double burden_seconds, Clock clock, std::vector<double>* strands)
    : clock_(clock), burden_(burden_seconds / nanosecond) {
  TESSERA_EXPECTS(listening_recorder == nullptr);
  empty_strand_ = time_of_empty_strand();
  strands_ = strands;
  listening_recorder = this;
  begin_strand();
}

/// Returns the mean over several empty forks, the minimum of several tries, so that the sum over
/// very many short strands has little bias.
double Recorder::time_of_empty_strand() {
  constexpr int tries = 20, forks = 64, strands = 3 * forks;
  const Side nothing{[](void*) {}, nullptr};
  double least = 0;
  for (int t = 0; t < tries; ++t) {
    work_ = 0;
    begin_strand();
    for (int f = 0; f < forks; ++f) fork(nothing, nothing);
    least = t == 0 ? work_ / strands : std::min(least, work_ / strands);
  }
  work_ = 0;
  forks_ = 0;
  path_ = {};
  return least;
}

Recorder::~Recorder() { listening_recorder = nullptr; }

Recorder::Team::Team(Recorder& recorder, int threads)
    : recorder_(recorder), before_(recorder.team_) {
  if (before_ == 1) recorder_.team_ = std::max(1, threads);
}

/// Returns the least time of the strand that ends, and keeps it.
double Recorder::least_of_strand(double spent) {
  constexpr std::size_t most = std::size_t{1} << 22;  // 32 MiB
  const std::size_t strand = strand_++;
  if (strand < strands_->size()) return (*strands_)[strand] = std::min((*strands_)[strand], spent);
  if (strand < most) strands_->push_back(spent);
  return spent;
}

void Recorder::end_strand() {
  double spent = static_cast<double>(clock_() - begun_) - empty_strand_;
  if (strands_ != nullptr) spent = least_of_strand(spent);
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
  if (fork_observer != nullptr) fork_observer->fork();
  end_strand();
  ++forks_;
  const Path before = path_;
  const Path child = branch(left);
  if (fork_observer != nullptr) fork_observer->second_side();
  const Path continuation = branch(right);
  path_.span = before.span + std::max(child.span, continuation.span);
  path_.burdened = before.burdened + burden_ + std::max(child.burdened, continuation.burdened);
  begin_strand();
  if (fork_observer != nullptr) fork_observer->join();
}

WorkSpan Recorder::finish() {
  end_strand();
  const auto seconds = [](double ticks) { return std::max(0.0, ticks) * nanosecond; };
  const WorkSpan found{seconds(work_), seconds(path_.span), seconds(path_.burdened), forks_};
  begin_strand();
  return found;
}

}  // namespace tessera::inline v1::machine
