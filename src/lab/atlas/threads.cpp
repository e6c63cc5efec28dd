// Bandwidth by working set and threads; what threads cost each other.

#include <algorithm>

#include "base/progress.hpp"
#include "kernels/forkjoin/task_costs.hpp"
#include "kernels/forkjoin/team_costs.hpp"
#include "kernels/memory/line_traffic.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::atlas {
namespace {

constexpr index_t far_apart = 128;  // two lines: some machines fetch pairs of them

/// Returns 1, 2, 4, ... and the default number of threads.
std::vector<int> thread_counts() {
  const int most = machine::default_threads();
  std::vector<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

/// Returns at most `most` units, evenly spread over all.
std::vector<int> spread(const std::vector<int>& units, std::size_t most) {
  std::vector<int> chosen;
  const std::size_t count = std::min(units.size(), most);
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(units[i * units.size() / count]);
  return chosen;
}

void measure_pairs(Atlas& atlas) {
  constexpr std::size_t most = 32;
  const std::vector<int> all = machine::usable_units(), units = spread(all, most);
  if (units.size() < 2) {
    atlas.absent.emplace_back("lines between cores: this process may use one processing unit");
    return;
  }
  for (std::size_t one = 0; one < units.size(); ++one)
    for (std::size_t other = one + 1; other < units.size(); ++other)
      atlas.pairs.push_back(
          {units[one], units[other], memory::line_latency(units[one], units[other])});
}

void measure_updates(Atlas& atlas, int threads) {
  // Threads that contend have the median: in the least run one of them did most of the work alone.
  const auto add = [&](const char* name, memory::Update update, index_t apart) {
    const StepTime time = memory::update_time(update, apart, threads);
    atlas.operations.push_back({name, apart, threads, threads > 1 ? time.median : time.least});
  };
  using memory::Update;
  add("atomic_add", Update::add, far_apart);
  add("compare_exchange", Update::compare_exchange, far_apart);
  if (threads == 1) return;
  add("atomic_add", Update::add, 0);
  add("compare_exchange", Update::compare_exchange, 0);
  if (threads > 2) return;
  for (const index_t apart : {8, 16, 32, 64, 256}) add("atomic_add", Update::add, apart);
}

void measure_team(Atlas& atlas, int threads) {
  const auto add = [&](const char* name, double seconds) {
    atlas.operations.push_back({name, -1, threads, seconds});
  };
  const machine::TaskCosts tasks = forkjoin::task_costs(threads);
  add("task_fork", tasks.fork);
  add("task_join", tasks.join);
  add("task_steal", tasks.steal);
  const forkjoin::TeamCosts team = forkjoin::team_costs(threads);
  add("region", team.region);
  add("barrier", team.barrier);
}

}  // namespace

void measure_rates(Atlas& atlas) {
  Progress progress("bandwidths", 1);
  constexpr index_t smallest = index_t{16} << 10;
  const int most = machine::default_threads();
  const auto add = [&](memory::Traffic traffic, int threads, index_t bytes) {
    atlas.rates.push_back(
        {traffic, threads, bytes, memory::working_set_bandwidth(traffic, threads, bytes)});
  };
  for (const auto traffic :
       {memory::Traffic::read, memory::Traffic::write, memory::Traffic::copy}) {
    for (const int threads : thread_counts()) {
      const bool ends = threads == 1 || threads == most;
      const index_t least = ends ? smallest * threads : atlas.largest;
      for (index_t bytes = atlas.largest; bytes >= least; bytes /= 2) add(traffic, threads, bytes);
      progress.update(1.0 / 3 * static_cast<double>(static_cast<int>(traffic)) +
                      1.0 / 3 * threads / most);
    }
  }
  std::stable_sort(atlas.rates.begin(), atlas.rates.end(), [](const Rate& a, const Rate& b) {
    return std::tuple(a.traffic, a.threads, a.bytes) < std::tuple(b.traffic, b.threads, b.bytes);
  });
}

void measure_threads(Atlas& atlas) {
  measure_pairs(atlas);
  for (const int threads : thread_counts()) {
    measure_updates(atlas, threads);
    if (threads > 1) measure_team(atlas, threads);
  }
}

}  // namespace tessera::inline v1::atlas
