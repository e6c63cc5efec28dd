// Theoretical misses of sorting.

#include <algorithm>
#include <cmath>

#include "lab/locality/theorem.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Returns the misses of counting sorts of n items with keys of [0, k). Counters have 8 bytes
/// (counting) or 4 (in buckets), starts of buckets 8.
Theorem counting_theorem(const Problem& p, index_t line_bytes) {
  const auto n = static_cast<double>(p.n), k = static_cast<double>(p.range);
  const double line = static_cast<double>(line_bytes) / static_cast<double>(p.element_bytes);
  const double counters = 8 * k / static_cast<double>(line_bytes);
  if (p.kernel == "counting") {
    return Theorem{.formula = "6n/L + k/L if Z >= 2k, else 5n/L + 2n + 2k/L",
                   .misses = [=](index_t lines) {
                     const auto room = static_cast<double>(lines);
                     // An output line stays resident until the items of its other keys have
                     // arrived, among n items.
                     return room >= counters + k ? 6 * n / line + counters
                            : room >= counters   ? 5 * n / line + n + counters
                                                 : 5 * n / line + 3 * n + 3 * counters;
                   }};
  }
  const int bits = static_cast<int>(std::ceil(std::log2(std::max(2.0, k))));
  const double buckets = std::exp2(bits - std::max(bits - 12, std::min(bits, 13)));
  const double slots = 4 * k / static_cast<double>(line_bytes);
  return Theorem{
      .formula = "9n/L + 3m/L + m + 2k/L, m buckets, if Z holds a bucket's counters and m lines",
      .misses = [=](index_t) {
        return 9 * n / line + 3 * buckets * 8 / static_cast<double>(line_bytes) + buckets +
               2 * slots;
      }};
}

/// Cost of a recursion while its parts exceed the cache: `deep(Z)` levels of `pass` lines over n
/// items.
struct Recursion {
  const char* formula;
  double once;                         ///< lines touched in total
  double pass;                         ///< lines of one level
  double room;                         ///< elements that fit completely
  std::function<double(double)> deep;  ///< levels that do not fit a cache of Z elements
};

Theorem recursion_theorem(const Recursion& r, double line) {
  constexpr double smallest = 4096;  // bytes: leaves of every kernel fit
  const auto to = static_cast<index_t>(r.room / (4 * line));
  return {.formula = r.formula,
          .misses = [once = r.once](index_t) { return once; },
          .fitted =
              [r, line](index_t lines) {
                const double z = static_cast<double>(lines) * line;
                return z >= r.room ? 0 : r.pass * r.deep(z);
              },
          .from_lines = std::min(to, static_cast<index_t>(smallest / 8 / line)),
          .to_lines = to};
}

double lg(double x) { return std::log2(std::max(1.0, x)); }

std::optional<Theorem> comparison_theorem(const Problem& p, double line) {
  const auto n = static_cast<double>(p.n);
  const std::string& kernel = p.kernel;
  if (kernel.starts_with("mergesort")) {
    // A level reads one array and writes the other; parts of Z/2 items fit with their copies.
    return recursion_theorem(
        {"2n/L + c 2n/L lg(2n/Z), 2n/L if Z >= 2n (two-way merge sort)", 2 * n / line, 2 * n / line,
         2 * n, [=](double z) { return lg(2 * n / z); }},
        line);
  }
  if (kernel == "quicksort" || kernel == "std") {
    return recursion_theorem({"n/L + c n/L lg(n/Z), n/L if Z >= n; c = 1 for medians, 1.39 for "
                              "random pivots (LaMarca and "
                              "Ladner 1999)",
                              n / line, n / line, n, [=](double z) { return lg(n / z); }},
                             line);
  }
  if (kernel == "samplesort") {
    constexpr double ways = 128;
    return recursion_theorem(
        {"2n/L + c n/L lg(n/Z)/lg 128: passes to 128 buckets (Sanders and Winkel 2004)",
         2 * n / line, n / line, 2 * n, [=](double z) { return lg(2 * n / z) / lg(ways); }},
        line);
  }
  if (kernel == "cache_oblivious") {
    return recursion_theorem(
        {"2n/L + c n/L log_Z n (funnelsort: optimal in tall caches, Brodal and Fagerberg 2002)",
         2 * n / line, n / line, 2 * n, [=](double z) { return lg(n) / lg(z); }},
        line);
  }
  if (kernel == "radix" && p.n > index_t{1} << 17) {
    return Theorem{.formula = "3n/L if Z holds a bucket with its parts (1 MiB), n/L if all fits",
                   .misses = [=](index_t lines) {
                     return (static_cast<double>(lines) * line >= 1.25 * n ? 1 : 3) * n / line;
                   }};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Theorem> sort_theorem(const Problem& problem, index_t line_bytes) {
  if (problem.kernel.starts_with("counting")) return counting_theorem(problem, line_bytes);
  if (problem.n < 2) return std::nullopt;
  return comparison_theorem(
      problem, static_cast<double>(line_bytes) / static_cast<double>(problem.element_bytes));
}

}  // namespace tessera::inline v1::locality
