#include "base/statistics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"

namespace tessera::inline v1 {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Returns the largest r with P(Binomial(n, 1/2) < r) <= 0.025, so that [x_r, x_{n+1-r}] covers the
/// median with probability 95 %.
std::size_t median_rank(std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n));  // P(X = 0)
  if (term == 0.0) {                                    // large n: the normal approximation
    return static_cast<std::size_t>(static_cast<double>(n) / 2 -
                                    0.98 * std::sqrt(static_cast<double>(n)));
  }
  double cumulative = 0;
  std::size_t rank = 0;
  while (cumulative + term <= 0.025) {
    cumulative += term;
    ++rank;
    term *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
  }
  return rank;
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  Summary s;
  s.count = samples.size();
  if (samples.empty()) return s;
  std::sort(samples.begin(), samples.end());
  s.min = samples.front();
  s.max = samples.back();
  s.q1 = quantile(samples, 0.25);
  s.median = quantile(samples, 0.5);
  s.q3 = quantile(samples, 0.75);
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(s.count);
  const std::size_t rank = median_rank(s.count);
  s.ci_low = rank == 0 ? s.min : samples[rank - 1];
  s.ci_high = rank == 0 ? s.max : samples[s.count - rank];
  return s;
}

std::string interval_text(const Summary& seconds) {
  if (seconds.count < 2) return "-";
  std::string low = human_seconds(seconds.ci_low), high = human_seconds(seconds.ci_high);
  const std::string unit = low.substr(low.find(' '));
  if (high.ends_with(unit) && high.find(' ') == high.size() - unit.size())
    low.resize(low.size() - unit.size());
  std::string text = low + " .. " + high;
  constexpr std::size_t enough = 6;  // the range of six covers 96.9 %
  if (seconds.count < enough)
    text += fmt::format(" ({:.0f} %)", 100 - 100 * std::pow(0.5, seconds.count - 1));
  return text;
}

}  // namespace tessera::inline v1
