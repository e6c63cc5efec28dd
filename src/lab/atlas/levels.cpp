// Plateaus of the latency, and the reach of the translation caches.

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "lab/atlas/atlas.hpp"

namespace tessera::inline v1::atlas {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double apart = 1.2;  // ratio of the latencies of levels that can be distinguished

/// Returns the median latency of sizes within [low, high]; without any, of the size nearest to
/// their geometric mean.
double plateau(const std::vector<Chased>& curve, double low, double high) {
  std::vector<double> inside;
  for (const Chased& one : curve)
    if (static_cast<double>(one.bytes) >= low && static_cast<double>(one.bytes) <= high)
      inside.push_back(one.seconds.least);
  if (!inside.empty()) return summarize(inside).median;
  const double middle = std::log(low) / 2 + std::log(high) / 2;
  const auto distance = [&](const Chased& one) {
    return std::abs(std::log(static_cast<double>(one.bytes)) - middle);
  };
  const auto nearest =
      std::min_element(curve.begin(), curve.end(),
                       [&](const Chased& a, const Chased& b) { return distance(a) < distance(b); });
  return nearest->seconds.least;
}

/// Returns the size from `low` on where the curve crosses `seconds` for good, interpolated between
/// logarithms; NaN if it does not.
double crossing(const std::vector<Chased>& curve, double seconds) {
  std::size_t first = curve.size();
  while (first > 0 && curve[first - 1].seconds.least > seconds) --first;
  if (first == 0 || first == curve.size()) return nan;
  const Chased &below = curve[first - 1], &above = curve[first];
  const double share =
      std::log(seconds / below.seconds.least) / std::log(above.seconds.least / below.seconds.least);
  return static_cast<double>(below.bytes) *
         std::pow(static_cast<double>(above.bytes) / static_cast<double>(below.bytes), share);
}

/// Returns the latency of a curve at a size, interpolated linearly.
double at(const std::vector<Chased>& curve, double bytes) {
  const auto after = std::find_if(curve.begin(), curve.end(), [&](const Chased& one) {
    return static_cast<double>(one.bytes) >= bytes;
  });
  if (after == curve.begin()) return curve.front().seconds.least;
  if (after == curve.end()) return curve.back().seconds.least;
  const Chased& before = *(after - 1);
  const double share = (bytes - static_cast<double>(before.bytes)) /
                       static_cast<double>(after->bytes - before.bytes);
  return before.seconds.least + share * (after->seconds.least - before.seconds.least);
}

}  // namespace

std::vector<Level> levels_of(const std::vector<Chased>& curve,
                             const std::vector<machine::CacheLevel>& caches) {
  std::vector<Level> levels;
  if (curve.empty() || caches.empty()) return levels;
  double below = 0;  // bytes of the next smaller cache
  for (const machine::CacheLevel& cache : caches) {
    if (below > static_cast<double>(curve.back().bytes)) break;
    const auto bytes = static_cast<double>(cache.bytes);
    levels.push_back(
        {cache.name, cache.bytes,
         plateau(curve, below > 0 ? 2 * below : static_cast<double>(curve.front().bytes),
                 bytes / 2),
         nan});
    below = bytes;
  }
  if (static_cast<double>(curve.back().bytes) >= 2 * below)
    levels.push_back(
        {"memory", 0, plateau(curve, 2 * below, static_cast<double>(curve.back().bytes)), nan});
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    const double mine = levels[l].seconds, next = levels[l + 1].seconds;
    if (next >= apart * mine) levels[l].measured = crossing(curve, std::sqrt(mine * next));
  }
  return levels;
}

std::vector<Reach> reaches_of(const std::vector<Chased>& chases, double cycle) {
  std::vector<Chased> pages, lines;
  for (const Chased& one : chases) {
    if (one.kind == Chased::Kind::pages) pages.push_back(one);
    if (one.kind == Chased::Kind::lines_huge) lines.push_back(one);
  }
  std::vector<Reach> result;
  if (pages.empty() || lines.empty()) return result;
  for (const double cycles : {3.0, 15.0}) {
    const auto exceeds = [&](const Chased& one) {
      const double same = at(lines, 64.0 * static_cast<double>(one.loads));
      return one.seconds.least - same > cycles * cycle;
    };
    std::size_t first = pages.size();  // beyond which all exceed it
    while (first > 0 && exceeds(pages[first - 1])) --first;
    const Reach reach{cycles, first == 0 ? 0 : pages[first - 1].loads, first < pages.size()};
    result.push_back(reach);
  }
  return result;
}

}  // namespace tessera::inline v1::atlas
