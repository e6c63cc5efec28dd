// Multiselection by histograms of 12 bits a pass.

#include "dist/sort/select.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/sort/key.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

constexpr int pass_bits = 12;  // 4096 counters of 8 bytes: the first-level cache
constexpr index_t bins = index_t{1} << pass_bits;
constexpr index_t few = 1 << 20;  // keys of all ranks that are kept instead of read again

/// An interval low .. high that contains a sought key, counted in steps of 2^shift.
struct KeyInterval {
  std::uint64_t low = 0, high = 0;
  index_t below = 0;  // keys below low
  index_t count = 0;  // keys inside
  [[nodiscard]] bool found() const { return low == high; }
  [[nodiscard]] int shift() const {
    return std::max(0, tessera::sort::bit_length(high - low) - pass_bits);
  }
};

/// Keys as a pass provides them, or the kept ones.
struct Keys {
  const BitsPass& pass;
  std::vector<std::uint64_t> kept;
  bool keeps = false;

  void visit(const BitsPiece& piece) const {
    if (keeps)
      piece(kept);
    else
      pass(piece);
  }
};

/// Returns the index of the interval that contains the key, intervals ascending and disjoint; their
/// number if none does.
std::size_t interval_of(const std::vector<KeyInterval>& open, std::uint64_t key) {
  std::size_t at = 0;
  while (at < open.size() && open[at].high < key) ++at;
  return at < open.size() && open[at].low <= key ? at : open.size();
}

KeyInterval range_of_all(const mpi::Communicator& comm, const Keys& keys) {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  index_t count = 0;
  keys.visit([&](std::span<const std::uint64_t> piece) {
    for (const std::uint64_t key : piece) {
      least = std::min(least, key);
      most = std::max(most, key);
    }
    count += static_cast<index_t>(piece.size());
  });
  const std::uint64_t mine[] = {least, most};
  const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
  for (std::size_t r = 0; r < all.size(); r += 2) {
    least = std::min(least, all[r]);
    most = std::max(most, all[r + 1]);
  }
  return {least, most, 0, comm.sum(count)};
}

std::vector<index_t> counts_in(const mpi::Communicator& comm, const Keys& keys,
                               const std::vector<KeyInterval>& open) {
  std::vector<index_t> counts(open.size() * static_cast<std::size_t>(bins));
  keys.visit([&](std::span<const std::uint64_t> piece) {
    if (open.size() == 1) {
      const KeyInterval one = open.front();
      const int shift = one.shift();
      for (const std::uint64_t key : piece) {
        if (key >= one.low && key <= one.high) ++counts[(key - one.low) >> shift];
      }
      return;
    }
    for (const std::uint64_t key : piece) {
      const std::size_t at = interval_of(open, key);
      if (at < open.size())
        ++counts[at * static_cast<std::size_t>(bins) + ((key - open[at].low) >> open[at].shift())];
    }
  });
  comm.sum(std::span(counts));
  return counts;
}

/// Returns the bin of an interval that contains the position.
KeyInterval narrowed(const KeyInterval& from, std::span<const index_t> counts, index_t position) {
  KeyInterval to = from;
  std::size_t bin = 0;
  for (; to.below + counts[bin] <= position; ++bin) to.below += counts[bin];
  const int shift = from.shift();
  to.low = from.low + (static_cast<std::uint64_t>(bin) << shift);
  to.high = to.low + std::min(from.high - to.low, (std::uint64_t{1} << shift) - 1);
  to.count = counts[bin];
  return to;
}

void keep(Keys& keys, const std::vector<KeyInterval>& open) {
  std::vector<std::uint64_t> kept;
  keys.visit([&](std::span<const std::uint64_t> piece) {
    for (const std::uint64_t key : piece) {
      if (interval_of(open, key) < open.size()) kept.push_back(key);
    }
  });
  keys.kept = std::move(kept);
  keys.keeps = true;
}

/// Returns the intervals that are not found yet, each once, ascending.
std::vector<KeyInterval> open_of(const std::vector<KeyInterval>& places) {
  std::vector<KeyInterval> open;
  for (const KeyInterval& place : places) {
    if (!place.found()) open.push_back(place);
  }
  const auto less = [](const KeyInterval& a, const KeyInterval& b) { return a.low < b.low; };
  const auto same = [](const KeyInterval& a, const KeyInterval& b) { return a.low == b.low; };
  std::sort(open.begin(), open.end(), less);
  open.erase(std::unique(open.begin(), open.end(), same), open.end());
  return open;
}

}  // namespace

std::vector<Selected> select(const mpi::Communicator& comm, const BitsPass& pass,
                             std::span<const index_t> positions) {
  require_argument(static_cast<bool>(pass), "pass",
                   "is empty: a function that provides the keys is needed");
  Keys keys{pass, {}, false};
  const KeyInterval all = range_of_all(comm, keys);
  for (const index_t position : positions) {
    require_argument(
        position >= 0 && position < all.count, "positions",
        fmt::format("has {}: must be in [0, {}), the positions of the keys", position, all.count));
  }
  std::vector<KeyInterval> places(positions.size(), all);
  for (auto open = open_of(places); !open.empty(); open = open_of(places)) {
    index_t inside = 0;
    for (const KeyInterval& interval : open) inside += interval.count;
    if (!keys.keeps && inside <= few) keep(keys, open);
    const std::vector<index_t> counts = counts_in(comm, keys, open);
    for (std::size_t p = 0; p < places.size(); ++p) {
      if (places[p].found()) continue;
      const std::size_t at = interval_of(open, places[p].low);
      places[p] =
          narrowed(places[p], std::span(counts).subspan(at * static_cast<std::size_t>(bins), bins),
                   positions[p]);
    }
  }
  std::vector<Selected> result;
  for (const KeyInterval& place : places) result.push_back({place.low, place.below});
  return result;
}

QuantilePlace quantile_place(double q, index_t n) {
  require_argument(q >= 0 && q <= 1, "q", fmt::format("is {}: must be in [0, 1]", q));
  require_argument(n >= 1, "n", "is less than 1: a quantile needs at least one key");
  const double place = q * static_cast<double>(n - 1);
  const double floor = std::floor(place);
  const auto below = std::clamp<index_t>(static_cast<index_t>(floor), 0, n - 1);
  return {below, std::min(below + 1, n - 1), place - floor};
}

}  // namespace tessera::inline v1::dist::sort
