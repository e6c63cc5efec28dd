#pragma once
// Comparison of candidates timed interleaved in one process, so that disturbances affect all alike.

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "base/timer.hpp"

namespace tessera::bench {

struct Candidate {
  std::string name;
  std::function<void()> run;
  std::function<void()> prepare = [] {};  ///< untimed, before every run (a sort needs fresh input)
};

enum class Clock { wall, processor };  ///< processor: CPU time of this thread

inline double seconds_of(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the seconds of each candidate, summarised over `repetitions` rounds. Every round runs
/// each candidate once, in a new random order that is the same on every rank, so that no candidate
/// always benefits from another's cache contents. One untimed round warms up. Rounds end early, but
/// not before three, once `budget` seconds are spent. Several ranks run in step if `agree` returns
/// their slowest time.
inline std::vector<Summary> interleaved(
    const std::vector<Candidate>& candidates, int repetitions, double budget,
    const std::function<double(double)>& agree = [](double mine) { return mine; },
    Clock clock = Clock::wall) {
  std::vector<std::vector<double>> seconds(candidates.size());
  const Timer total;
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random;  // default seed: the same order on every rank
  for (int round = -1; round < repetitions; ++round) {
    if (round >= 3 && agree(total.seconds()) > budget) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t which : order) {
      candidates[which].prepare();
      const double began = seconds_of(clock);
      candidates[which].run();
      const double elapsed = agree(seconds_of(clock) - began);
      if (round >= 0) seconds[which].push_back(elapsed);
    }
  }
  std::vector<Summary> summaries;
  for (auto& samples : seconds) summaries.push_back(summarize(std::move(samples)));
  return summaries;
}

}  // namespace tessera::bench
