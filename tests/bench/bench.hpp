#pragma once
// Side by side: candidates timed in turns in one process, so that what disturbs one disturbs all.

#include <fmt/format.h>

#include <ctime>
#include <functional>
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

/// Seconds of each candidate, summarised over `repetitions` rounds; in every round each runs once, in an
/// order that rotates, forwards and backwards by turns: what one leaves in the caches is not always for the
/// same next. One untimed round warms up. Rounds stop early, but not before three, when `budget`
/// seconds are spent. Several ranks run in step when `agree` makes one time of theirs, the slowest.
inline std::vector<Summary> interleaved(
    const std::vector<Candidate>& candidates, int repetitions, double budget,
    const std::function<double(double)>& agree = [](double mine) { return mine; },
    Clock clock = Clock::wall) {
  std::vector<std::vector<double>> seconds(candidates.size());
  const Timer total;
  for (int round = -1; round < repetitions; ++round) {
    if (round >= 3 && agree(total.seconds()) > budget) break;
    for (std::size_t turn = 0; turn < candidates.size(); ++turn) {
      const std::size_t at = (turn + static_cast<std::size_t>(round + 1)) % candidates.size();
      const std::size_t which = round % 2 == 0 ? at : candidates.size() - 1 - at;
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
