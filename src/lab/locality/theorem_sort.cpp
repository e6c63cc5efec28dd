// Theoretical misses of sorting.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "kernels/sort/counting.hpp"
#include "lab/locality/theorem.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Lines that a loop touches in random order: each equally often, together once a step.
struct Random {
  double lines;
};

/// Returns the share of touches that miss in an LRU cache of `room` lines, by set of lines: a line
/// stays for the time in which the expected number of different lines fills the cache (Che, Tung
/// and Wang 2002).
std::vector<double> shares_missed(double room, std::initializer_list<Random> sets) {
  double all = 0;
  for (const Random& set : sets) all += set.lines;
  std::vector<double> shares(sets.size(), 0);
  if (all <= room) return shares;
  const auto resident = [&](double steps) {
    double lines = 0;
    for (const Random& set : sets) lines += set.lines * -std::expm1(-steps / set.lines);
    return lines;
  };
  double low = 0, high = 64 * all;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (resident(middle) < room ? low : high) = middle;
  }
  std::transform(sets.begin(), sets.end(), shares.begin(),
                 [=](const Random& set) { return std::exp(-low / set.lines); });
  return shares;
}

/// The sizes of a bucketed counting sort, as its kernel chooses them; all but n in lines.
struct Buckets {
  Buckets(const Problem& p, index_t line_bytes) {
    const auto k = static_cast<double>(p.range);
    const double line = static_cast<double>(line_bytes);
    n = static_cast<double>(p.n);
    data = n * static_cast<double>(p.element_bytes) / line;
    places = p.element_bytes == 16;
    double slots = 0;
    if (places) {
      const int bits = static_cast<int>(std::ceil(std::log2(std::max(2.0, k))));
      const int shift = std::max(bits - 12, std::min(bits, 13));
      count = std::exp2(bits - shift);
      slots = std::exp2(shift);
    } else {
      count = p.range <= static_cast<index_t>(sort::one_pass_range)
                  ? 1
                  : static_cast<double>(std::clamp<index_t>(p.range / sort::aimed_slots + 1, 4,
                                                            sort::most_counted_buckets));
      slots = std::ceil(k / count);
    }
    counters = 4 * slots / line;
    used = 4 * std::min(slots, k / count) / line;
    starts = 8 * count / line;
    output = data / count;
  }
  double n, data, count, counters, used, starts, output;
  bool places;  ///< items are placed; keys are written from their counts
};

/// Returns the lines of the pass that distributes items to buckets, whose open lines and next
/// places are touched at random.
double distribution(const Buckets& b, double room) {
  const auto missed = shares_missed(room - 1, {{b.count}, {b.starts}});
  return (room >= b.data ? 0 : b.data) + (room >= 2 * b.data ? 0 : b.data) +
         std::max(b.data, b.n * missed[0]) + b.n * missed[1];
}

/// Returns the lines of counting and writing all buckets.
double counting_of_buckets(const Buckets& b, double room) {
  const double counted = b.n * shares_missed(room - 1, {{b.used}})[0];
  const double scans = room < b.counters ? 2 * b.counters * b.count : 0;
  if (!b.places) return b.data + counted + scans + b.data;
  const auto missed = shares_missed(room - 1, {{b.used}, {b.output}});
  const double again = room >= 2 * b.output + b.counters ? 0 : b.data;
  return b.data + counted + scans + again + b.n * missed[0] + std::max(b.data, b.n * missed[1]);
}

/// Returns the misses of counting_bucketed: of what is read and written in order, and of counters,
/// open lines and output in random order.
Theorem bucketed_theorem(const Problem& p, index_t line_bytes) {
  const Buckets b(p, line_bytes);
  const bool distributes = b.places || b.count > 1;
  return {.formula = b.places ? "6n/L + k/L if Z holds the counters and the output of a bucket; "
                                "less: + n and + 2n by the shares that LRU misses (Che et al. 2002)"
                     : distributes
                         ? "6n/L + k/L if Z holds the counters of a bucket; less: + n by the share "
                           "that LRU misses (Che et al. 2002)"
                         : "3n/L + k/L if Z holds the counters; less: + n by the share that LRU "
                           "misses (Che et al. 2002)",
          .misses = [=](index_t lines) {
            const auto room = static_cast<double>(lines);
            const double arrays = (distributes ? 2 : 1) * b.data;
            if (room >= arrays + b.counters) return arrays + b.counters;
            const double passes = distributes ? distribution(b, room) : 0;
            return b.data + passes + counting_of_buckets(b, room) + b.counters;
          }};
}

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
  return bucketed_theorem(p, line_bytes);
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
  if (kernel == "heapsort") {
    return recursion_theorem(
        {"n/L + c n lg(n/Z), n/L if Z >= n: a removal misses at each level beyond the cache "
         "(LaMarca and Ladner 1996)",
         n / line, n, n, [=](double z) { return lg(n / z); }},
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
