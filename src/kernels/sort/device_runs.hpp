#pragma once
// Items that a device does not hold, through it in runs: while one is sorted there, the next is on
// its way there and the one before on its way back. Then the host merges them. Arithmetic and order
// alone: what it takes to move and to sort is passed in.
//
// The other way, cutting at splitters first so that every part fits and nothing is merged, moves
// the same bytes: every item once there and once back, and 64 bytes of the host's memory for one of
// 8 (into pinned memory and out of it both ways, and a scatter in the place of the merge). Runs
// need no sample that may be wrong, no room beside the scratch, and equal keys, however many, keep
// their order by themselves.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/sort/runs.hpp"

namespace tessera::sort {

/// Runs that are on a device at a time: one comes, one is sorted, one goes.
inline constexpr index_t passing_runs = 3;

struct DeviceRuns {
  index_t n = 0, run = 0;  ///< items of all, and of a run; the last one may be shorter

  [[nodiscard]] index_t count() const { return n == 0 ? 0 : ceil_div(n, run); }
  [[nodiscard]] index_t begin(index_t r) const { return r * run; }
  [[nodiscard]] index_t size(index_t r) const { return std::min(run, n - r * run); }
};

/// As few runs as there may be if bytes(run, places), of runs of that length in so many places, are
/// no more than `limit`; all about as long. Bytes grow with both. Throws Error(memory) where so
/// little is allowed that runs would be shorter than 64 Ki items.
template <class Bytes>
[[nodiscard]] DeviceRuns plan_device_runs(index_t n, index_t limit, const Bytes& bytes) {
  for (index_t count = 1; count < passing_runs; ++count) {
    if (bytes(ceil_div(n, count), count) <= limit) return {n, ceil_div(n, count)};
  }
  index_t fits = std::min<index_t>(n, 1 << 16);
  require(bytes(fits, passing_runs) <= limit, ExitCode::memory,
          "a sort on the device needs " +
              human_bytes(static_cast<double>(bytes(fits, passing_runs))) +
              " of its memory at least and may take " + human_bytes(static_cast<double>(limit)) +
              "; take a larger --device-memory, or --device cpu");
  for (index_t most = n; fits < most;) {
    const index_t middle = fits + (most - fits + 1) / 2;
    if (bytes(middle, passing_runs) <= limit)
      fits = middle;
    else
      most = middle - 1;
  }
  return {n, ceil_div(n, ceil_div(n, fits))};
}

/// In turn t run t goes to the device, run t - 1 is sorted and run t - 2 comes back; the two that
/// travel by stretches of so many items in turn, for one thread feeds both ways. The passage's
/// verbs return when they have been asked for: what has to wait for what it knows by the place, run
/// modulo passing_runs.
template <class Passage>
void pass_runs(const DeviceRuns& runs, index_t stretch, Passage& passage) {
  const index_t count = runs.count();
  for (index_t turn = 0; turn < count + 2; ++turn) {
    const index_t there = turn < count ? turn : -1, back = turn - 2;
    if (there >= 0) passage.wait_for_place(there);
    if (back >= 0) passage.wait_for_sorted(back);
    for (index_t at = 0; at < runs.run; at += stretch) {
      const auto length = [&](index_t r) {
        return r < 0 ? 0 : std::clamp<index_t>(runs.size(r) - at, 0, stretch);
      };
      if (length(there) > 0) passage.send(there, at, length(there));
      if (length(back) > 0) passage.bring(back, at, length(back));
    }
    if (there >= 0) passage.sort(there, runs.size(there));
    if (back >= 0) passage.leave(back);
  }
}

/// to[0:n] = the merge of the runs that lie side by side in from[0:n]. On the threads of the region
/// it is called in.
template <class Item>
void merge_device_runs(const DeviceRuns& runs, const Item* from, Item* to) {
  std::vector<Run<Item>> sorted;
  for (index_t r = 0; r < runs.count(); ++r) sorted.push_back({from + runs.begin(r), runs.size(r)});
  merge_runs<Item>(sorted, to);
}

}  // namespace tessera::sort
