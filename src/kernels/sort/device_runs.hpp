#pragma once
// Out-of-core sort on a device, in runs: while one run is sorted, the next is sent and the previous
// one brought back (a pipeline of three places). Then the host merges them. Arithmetic and order
// only: transfers and the sort are parameters.
//
// The alternative, partitioning by splitters first so that every part fits and no merge is needed,
// moves the same bytes: every item once each way, and 64 bytes of host memory traffic per item of 8
// bytes (into pinned memory and out of it both ways, and a scatter instead of the merge). Runs need
// no sample that may be wrong and no memory in addition to the scratch, and equal keys, however
// many, keep their order without extra work.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/option_names.hpp"
#include "base/text.hpp"
#include "kernels/sort/runs.hpp"

namespace tessera::inline v1::sort {

/// Runs on a device at a time: one arrives, one is sorted, one leaves.
inline constexpr index_t passing_runs = 3;

struct DeviceRuns {
  index_t n = 0, run = 0;  ///< items in total, and per run; the last run may be shorter

  [[nodiscard]] index_t count() const { return n == 0 ? 0 : ceil_div(n, run); }
  [[nodiscard]] index_t begin(index_t r) const { return r * run; }
  [[nodiscard]] index_t size(index_t r) const { return std::min(run, n - r * run); }
};

/// Returns the fewest runs, of nearly equal length, for which bytes(run, places), the memory of
/// runs of that length in that many places, is at most `limit`. bytes must increase with both.
/// Throws Error(memory) if the limit would make runs shorter than 64 Ki items.
template <class Bytes>
[[nodiscard]] DeviceRuns plan_device_runs(index_t n, index_t limit, const Bytes& bytes) {
  for (index_t count = 1; count < passing_runs; ++count) {
    if (bytes(ceil_div(n, count), count) <= limit) return {n, ceil_div(n, count)};
  }
  index_t fits = std::min<index_t>(n, 1 << 16);
  const std::string memory(option_or("--device-memory", "Tuning::device_memory"));
  require(bytes(fits, passing_runs) <= limit, ExitCode::memory,
          "sort on the device needs at least " +
              human_bytes(static_cast<double>(bytes(fits, passing_runs))) +
              " of device memory: " + memory + " or the free memory allows " +
              human_bytes(static_cast<double>(limit)) + "; raise " + memory + ", or use " +
              std::string(option_or("--device cpu", "a CPU kernel")));
  for (index_t most = n; fits < most;) {
    const index_t middle = fits + (most - fits + 1) / 2;
    if (bytes(middle, passing_runs) <= limit)
      fits = middle;
    else
      most = middle - 1;
  }
  return {n, ceil_div(n, ceil_div(n, fits))};
}

/// Runs the pipeline: in turn t run t is sent, run t - 1 is sorted and run t - 2 is brought back;
/// the two transfers alternate by `stretch` items, because one thread feeds both. The passage's
/// operations are asynchronous and order themselves by the place, run modulo passing_runs.
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

/// Merges the contiguous runs of from[0:n] into to[0:n], on the threads of the enclosing parallel
/// region.
template <class Item>
void merge_device_runs(const DeviceRuns& runs, const Item* from, Item* to) {
  std::vector<Run<Item>> sorted;
  for (index_t r = 0; r < runs.count(); ++r) sorted.push_back({from + runs.begin(r), runs.size(r)});
  merge_runs<Item>(sorted, to);
}

}  // namespace tessera::inline v1::sort
