#pragma once
// Order statistics of repeated timings.

#include <string>
#include <vector>

namespace tessera::inline v1 {

struct Summary {
  std::size_t count = 0;
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0, mean = 0;
  double ci_low = 0,
         ci_high = 0;  ///< 95 % confidence interval of the median, from order statistics
};

/// Returns the order statistics of the samples; all zero if there are no samples. The ranks of the
/// interval follow the binomial distribution with p = 1/2 (David and Nagaraja 2003, 7.1); for fewer
/// than 6 samples the interval is [min, max], which covers the median with probability 1 -
/// 2^(1-count), less than 95 %.
[[nodiscard]] Summary summarize(std::vector<double> samples);

/// Returns the confidence interval of the median, "1.2 ms .. 1.5 ms"; with its coverage for two to
/// five samples, "1.2 ms .. 1.5 ms (75 %)"; "-" for fewer than two.
[[nodiscard]] std::string interval_text(const Summary& seconds);

}  // namespace tessera::inline v1
