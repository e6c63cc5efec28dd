#include "lab/locality/stack_distance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.hpp"

namespace tessera::inline v1::locality {
namespace {

constexpr std::size_t fan_out = 16;
constexpr std::size_t first_times = std::size_t{1} << 16;

}  // namespace

LineSize::LineSize(index_t bytes) {
  require(bytes >= 1 && std::has_single_bit(static_cast<std::uint64_t>(bytes)), ExitCode::usage,
          "line size must be a power of two bytes");
  log2_ = std::countr_zero(static_cast<std::uint64_t>(bytes));
}

CountedBits::CountedBits(std::size_t size) : words_((size + 63) / 64) {
  std::size_t nodes = words_.size();
  do {
    counts_.emplace_back((nodes + fan_out - 1) / fan_out * fan_out);
    nodes = counts_.back().size() / fan_out;
  } while (counts_.back().size() > fan_out);
}

void CountedBits::flip(std::size_t i, std::uint32_t by) {
  words_[i / 64] ^= std::uint64_t{1} << (i % 64);
  std::size_t node = i / 64;
  for (auto& level : counts_) {
    level[node] += by;
    node /= fan_out;
  }
}

index_t CountedBits::right_of(std::size_t i) const {
  std::size_t node = i / 64;
  index_t count = std::popcount(words_[node] >> (i % 64) >> 1);
  for (const auto& level : counts_) {
    const std::size_t end = (node / fan_out + 1) * fan_out;
    std::uint32_t here = 0;
    for (std::size_t k = node + 1; k < end; ++k) here += level[k];
    count += here;
    node /= fan_out;
  }
  return count;
}

MissCurve::MissCurve(std::vector<double> distances, double first)
    : beyond_(std::move(distances)), first_(first) {
  double sum = 0;
  for (std::size_t d = beyond_.size(); d-- > 0;) sum += std::exchange(beyond_[d], sum);
}

double MissCurve::misses(index_t lines) const {
  const auto m = static_cast<std::size_t>(std::max<index_t>(lines, 0));
  return first_ + (m < beyond_.size() ? beyond_[m] : 0);
}

std::vector<index_t> MissCurve::steps() const {
  std::vector<index_t> result;
  for (std::size_t m = 1; m < beyond_.size(); ++m) {
    if (m == 1 || beyond_[m] != beyond_[m - 1]) result.push_back(static_cast<index_t>(m));
  }
  return result;
}

MissCurve& MissCurve::operator+=(const MissCurve& other) {
  if (beyond_.size() < other.beyond_.size()) beyond_.resize(other.beyond_.size());
  for (std::size_t m = 0; m < other.beyond_.size(); ++m) beyond_[m] += other.beyond_[m];
  first_ += other.first_;
  return *this;
}

StackDistance::StackDistance(const Options& options)
    : line_(options.line_bytes),
      threshold_(options.rate >= 1 ? ~std::uint64_t{0}
                                   : static_cast<std::uint64_t>(std::ldexp(options.rate, 63)) * 2),
      weight_(options.rate >= 1 ? 1 : 1 / options.rate),
      caches_(options.caches.begin(), options.caches.end()),
      owner_(first_times),
      bits_(first_times),
      by_level_(options.caches.size()),
      misses_(options.caches.size()) {
  require(caches_.size() <= 64, ExitCode::usage,
          "caches has more than 64 elements: must be at most 64");
}

bool StackDistance::followed(std::uint64_t line) const {
  return threshold_ == ~std::uint64_t{0} || mix64(line) < threshold_;
}

void StackDistance::take(std::span<const Access> accesses) {
  for (const Access access : accesses) {
    if (!access.is_touch()) {
      if (access.kind() == Access::Kind::enter) {
        started_.push_back(now_);
      } else {
        started_.pop_back();
      }
      continue;
    }
    const std::uint64_t first = line_.of(access.address());
    const std::uint64_t last = line_.of(access.address() + access.bytes() - 1);
    for (std::uint64_t line = first; line <= last; ++line) touch(line, access.array());
  }
}

void StackDistance::touch(std::uint64_t line, unsigned array) {
  ++accesses_;
  const std::uint64_t missed = line == last_line_ ? 0 : ask_caches(line, array);
  last_line_ = line;
  if (!followed(line)) return;
  if (line == newest_) {
    count(1, array);
    return;
  }
  newest_ = line;
  if (line >= last_.size()) last_.resize(std::max<std::size_t>(line + 1, 2 * last_.size()), never);
  if (now_ == bits_.size()) renumber();
  const std::uint32_t before = last_[line];
  index_t distance = 0;
  if (before == never) {
    ++live_;
  } else {
    distance = bits_.right_of(before) + 1;
    bits_.clear(before);
  }
  if (!caches_.empty()) count_level(distance, before, missed);
  bits_.set(now_);
  owner_[now_] = line;
  last_[line] = now_++;
  count(distance, array);
}

void StackDistance::count(index_t distance, unsigned array) {
  auto& histogram = histogram_[array];
  const auto d = static_cast<std::size_t>(distance);
  if (d >= histogram.size()) histogram.resize(std::max<std::size_t>(d + 1, 2 * histogram.size()));
  ++histogram[d];
}

/// Touches the line in every cache; returns a mask of the caches that missed.
std::uint64_t StackDistance::ask_caches(std::uint64_t line, unsigned array) {
  std::uint64_t missed = 0;
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    if (caches_[i].touch(line)) continue;
    missed |= std::uint64_t{1} << i;
    ++misses_[i][array];
  }
  return missed;
}

/// Counts a reuse at the deepest open subproblem that has touched the line.
void StackDistance::count_level(index_t distance, std::uint32_t before, std::uint64_t missed) {
  std::size_t level = 0;
  if (distance > 0) {
    level = static_cast<std::size_t>(std::upper_bound(started_.begin(), started_.end(), before) -
                                     started_.begin());
  }
  const auto scaled = static_cast<double>(distance) * weight_;
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    const bool first = distance == 0;
    const bool far = scaled > static_cast<double>(caches_[i].geometry().lines());
    const bool miss = (missed >> i & 1) != 0;
    if (!first && !far && !miss) continue;
    if (by_level_[i].size() <= level) by_level_[i].resize(level + 1);
    MissKinds& kinds = by_level_[i][level];
    kinds.compulsory += first ? weight_ : 0;
    kinds.capacity += far ? weight_ : 0;
    kinds.conflict += (miss ? weight_ : 0) - (first || far ? weight_ : 0);
  }
}

/// Assigns the first times to the last touches, in order; afterwards at least as many times are
/// free.
void StackDistance::renumber() {
  std::vector<std::uint64_t> lines;
  lines.reserve(live_);
  std::size_t open = 0;
  for (std::uint32_t time = 0; time < now_; ++time) {
    for (; open < started_.size() && started_[open] <= time; ++open)
      started_[open] = static_cast<std::uint32_t>(lines.size());
    if (bits_.test(time)) lines.push_back(owner_[time]);
  }
  for (; open < started_.size(); ++open) started_[open] = static_cast<std::uint32_t>(lines.size());
  const std::size_t times = std::max(first_times, 64 * ((4 * lines.size() + 63) / 64));
  bits_ = CountedBits(times);
  owner_.resize(bits_.size());
  now_ = 0;
  for (const std::uint64_t line : lines) {
    bits_.set(now_);
    owner_[now_] = line;
    last_[line] = now_++;
  }
}

MissCurve StackDistance::curve(unsigned array) const {
  const auto& histogram = histogram_[array];
  if (histogram.empty()) return {};
  const auto longest =
      static_cast<std::size_t>(std::ceil(static_cast<double>(histogram.size() - 1) * weight_));
  std::vector<double> distances(longest + 1);
  for (std::size_t d = 1; d < histogram.size(); ++d) {
    // An immediate reuse has distance 1 at every sampling rate.
    const double scaled = d == 1 ? 1 : static_cast<double>(d) * weight_;
    distances[static_cast<std::size_t>(std::lround(scaled))] +=
        static_cast<double>(histogram[d]) * weight_;
  }
  return {std::move(distances), static_cast<double>(histogram[0]) * weight_};
}

MissCurve StackDistance::curve() const {
  MissCurve sum;
  for (unsigned array = 0; array < most_arrays; ++array) sum += curve(array);
  return sum;
}

}  // namespace tessera::inline v1::locality
