// The chapters of the atlas, in order.

#include <algorithm>

#include "kernels/memory/line_traffic.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/probes.hpp"

namespace tessera::inline v1::atlas {
namespace {

constexpr index_t mib = index_t{1} << 20;

/// Returns the pairs of ranks to measure: all of up to 8 ranks; otherwise those of rank 0.
std::vector<std::pair<int, int>> pairs_of(int ranks) {
  constexpr int most = 8;
  std::vector<std::pair<int, int>> pairs;
  for (int from = 0; from < (ranks <= most ? ranks : 1); ++from)
    for (int to = from + 1; to < ranks; ++to) pairs.emplace_back(from, to);
  return pairs;
}

}  // namespace

std::vector<Chased> Atlas::of(Chased::Kind kind) const {
  std::vector<Chased> result;
  std::copy_if(chases.begin(), chases.end(), std::back_inserter(result),
               [&](const Chased& one) { return one.kind == kind; });
  return result;
}

std::vector<Chased> Atlas::curve() const {
  return of(huge_share > 0.5 ? Chased::Kind::lines_huge : Chased::Kind::lines_small);
}

index_t usual_largest() {
  const machine::Caches caches = machine::caches();
  const index_t most = std::min(1024 * mib, machine::available_memory() / 8);
  return std::max(16 * mib, std::min(most, 4 * std::max(caches.whole_l3, caches.l2)));
}

void measure_messages(const mpi::Communicator& comm, Atlas& atlas) {
  if (comm.size() == 1) {
    atlas.absent.emplace_back("messages: start several ranks with mpirun");
    return;
  }
  const std::vector<std::pair<int, int>> pairs = pairs_of(comm.size());
  const double seconds = std::min(0.05, 1.0 / static_cast<double>(pairs.size()));
  std::vector<index_t> sizes{1};
  for (index_t size = 4; size <= 4 * mib; size *= 4) sizes.push_back(size);
  const std::vector<index_t> few{8, 64 << 10, 4 * mib};
  for (const std::pair<int, int>& pair : pairs) {
    const std::vector<index_t>& mine = pair == pairs.front() ? sizes : few;
    const std::vector<double> times = mpi::measure_pair(comm, pair, mine, seconds);
    for (std::size_t s = 0; s < mine.size(); ++s)
      atlas.messages.push_back({pair.first, pair.second, mine[s], times[s]});
  }
}

Atlas measure(const mpi::Communicator& comm, index_t largest) {
  Atlas atlas;
  atlas.largest = largest;
  mpi::on_root_alone(comm, "atlas", [&] {
    const mpi::Computing computing;
    atlas.caches = machine::topology().caches;
    atlas.cycle = memory::cycle_seconds();
    measure_chases(atlas);
    measure_remote(atlas);
    measure_rates(atlas);
    measure_threads(atlas);
    atlas.roots = {{"1 / sqrt(x)", memory::root_cost(memory::Root::divide)},
                   {"0x5f3759df - bits / 2", memory::root_cost(memory::Root::fast)}};
    measure_device(atlas);
  });
  measure_messages(comm, atlas);
  return atlas;
}

}  // namespace tessera::inline v1::atlas
