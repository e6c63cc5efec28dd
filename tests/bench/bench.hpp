#pragma once
// Side by side: candidates timed in turns in one process, so that what disturbs one disturbs all.

#include <fmt/format.h>

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

enum class Clock { wall, processor };  ///< processor: what this thread took of it

inline double seconds_of(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of each candidate, summarised over `repetitions` rounds; in every round each runs once,
/// in an order of its own, the same on every rank: what one leaves in the caches is for none in
/// particular. One untimed round warms up. Rounds stop early, but not before three, when `budget`
/// seconds are spent. Several ranks run in step when `agree` makes one time of theirs, the slowest.
inline std::vector<Summary> interleaved(
    const std::vector<Candidate>& candidates, int repetitions, double budget,
    const std::function<double(double)>& agree = [](double mine) { return mine; },
    Clock clock = Clock::wall) {
  std::vector<std::vector<double>> seconds(candidates.size());
  const Timer total;
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random;  // from its fixed seed
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
