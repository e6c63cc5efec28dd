// Pointer chases by size of the working set, and in the memory of other NUMA nodes.

#include <algorithm>
#include <thread>

#include "base/progress.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/affinity.hpp"

namespace tessera::inline v1::atlas {
namespace {

constexpr index_t line = 64, smallest = index_t{4} << 10;

/// Returns sizes from `smallest` to `largest`: four an octave up to `dense`, then two.
std::vector<index_t> sizes(index_t dense, index_t largest) {
  std::vector<index_t> result;
  for (index_t octave = smallest; octave <= largest; octave *= 2) {
    const index_t steps = octave < dense ? 4 : 2;
    for (index_t step = 0; step < steps; ++step)
      if (const index_t size = octave + octave * step / steps; size <= largest)
        result.push_back(size);
  }
  return result;
}

index_t last_cache(const Atlas& atlas) {
  return atlas.caches.empty() ? machine::caches().l3 : atlas.caches.back().bytes;
}

/// Chases lines of memory of one kind of page.
void chase_lines(Atlas& atlas, const machine::PagedMemory& memory, Chased::Kind kind) {
  Progress progress("pointer chases", 1);
  const std::vector<index_t> all = sizes(2 * last_cache(atlas), atlas.largest);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const memory::ChaseShape shape{all[i] / line, line};
    atlas.chases.push_back({kind, shape.bytes(), shape.count, memory::chase(memory, shape)});
    progress.update(static_cast<double>(i + 1) / static_cast<double>(all.size()));
  }
}

/// Runs `work` on a thread of its own that is bound to the units.
template <class Work>
void bound(const std::vector<int>& units, const Work& work) {
  std::thread thread([&] {
    machine::run_on(units);
    work();
  });
  thread.join();
}

}  // namespace

void measure_chases(Atlas& atlas) {
  {
    const machine::PagedMemory memory(atlas.largest, machine::Pages::huge);
    chase_lines(atlas, memory, Chased::Kind::lines_huge);
    atlas.huge_share =
        static_cast<double>(memory.huge_bytes()) / static_cast<double>(memory.size());
  }
  const machine::PagedMemory memory(atlas.largest, machine::Pages::small);
  chase_lines(atlas, memory, Chased::Kind::lines_small);
  const index_t page = machine::page_bytes();
  for (index_t pages = 8; pages * page <= atlas.largest; pages *= 2) {
    for (const index_t count : {pages, pages + pages / 2}) {
      const memory::ChaseShape shape{count, page};
      if (shape.bytes() > atlas.largest) continue;
      atlas.chases.push_back(
          {Chased::Kind::pages, shape.bytes(), count, memory::chase(memory, shape)});
    }
  }
}

void measure_remote(Atlas& atlas) {
  const std::vector<machine::NumaNode> nodes = machine::numa_nodes();
  if (nodes.size() < 2) {
    atlas.absent.emplace_back("memory of other NUMA nodes: this machine has one node");
    return;
  }
  const memory::ChaseShape shape{atlas.largest / line, line};
  for (const machine::NumaNode& to : nodes) {
    if (to.units.empty()) continue;
    const machine::PagedMemory memory(atlas.largest, machine::Pages::huge);
    bound(to.units, [&] { memory::link_cycle(memory.data(), shape, 1); });
    for (const machine::NumaNode& from : nodes) {
      if (from.units.empty()) continue;
      StepTime seconds{};
      bound(from.units, [&] { seconds = memory::chase(memory, shape); });
      const auto place = static_cast<std::size_t>(&to - nodes.data());
      atlas.remotes.push_back({from.number, to.number,
                               from.distances.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                      : from.distances[place],
                               seconds});
    }
  }
}

}  // namespace tessera::inline v1::atlas
