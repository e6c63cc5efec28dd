// Exact splitters by multiselection: all borders at once, by counted probes.

#include "dist/sort/splitting.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::Rank;
using tessera::sort::Run;

struct Border {
  index_t position = 0;       // global
  index_t low = 0, high = 0;  // the cut on this rank is in [low, high]
  index_t missing = -1;  // of the items equal to the last one sought; -1 until that one is found
  Rank here{};           // its rank on this rank
  [[nodiscard]] bool found() const { return missing >= 0; }
};

/// Borders [first, last) that search in the same part of the run.
struct BorderRange {
  std::size_t first, last;
};

std::vector<BorderRange> groups_of(const std::vector<Border*>& open) {
  std::vector<BorderRange> groups;
  for (std::size_t b = 0; b < open.size(); ++b) {
    const bool same =
        b > 0 && open[b]->low == open[b - 1]->low && open[b]->high == open[b - 1]->high;
    if (same)
      groups.back().last = b + 1;
    else
      groups.push_back({b, b + 1});
  }
  return groups;
}

/// Offers `each` items per border at regular distances, all items if they are fewer; pads with
/// Item{}: every probe is counted, and any value is valid.
template <class Item>
void offer(Run<Item> run, const std::vector<Border*>& open, index_t each,
           std::vector<Item>& probes) {
  probes.assign(static_cast<std::size_t>(each) * open.size(), Item{});
  std::size_t next = 0;
  for (const BorderRange& group : groups_of(open)) {
    const index_t low = open[group.first]->low, size = open[group.first]->high - low;
    const index_t count = each * static_cast<index_t>(group.last - group.first);
    const index_t step = size / (count + 1), rest = size % (count + 1);
    for (index_t i = 1; i <= std::min(size, count); ++i) {
      const index_t at = size <= count ? i - 1 : step * i + std::min(i, rest);
      probes[next + static_cast<std::size_t>(i - 1)] = run.data[low + std::min(at, size - 1)];
    }
    next += static_cast<std::size_t>(count);
  }
}

/// Narrows a border by the counted probes.
void narrow_down(Border& border, std::span<const Rank> here, std::span<const Rank> all) {
  const auto above = std::partition_point(
      all.begin(), all.end(), [&](const Rank& rank) { return rank.below <= border.position; });
  const auto next = static_cast<std::size_t>(above - all.begin());
  if (next < all.size()) border.high = std::min(border.high, here[next].below);
  if (next == 0) return;
  const Rank& last = all[next - 1];
  if (border.position < last.below + last.equal) {
    border.missing = border.position - last.below;
    border.here = here[next - 1];
  } else {
    border.low = std::max(border.low, here[next - 1].below + here[next - 1].equal);
  }
}

template <class Item>
void search_round(const mpi::Communicator& comm, Run<Item> run, const std::vector<Border*>& open) {
  const auto count = static_cast<index_t>(open.size());
  std::vector<Item> mine;
  offer(run, open, std::max<index_t>(1, probes_per_round(comm.size(), count) / count), mine);
  std::vector<Item> probes = comm.all_gather(std::span<const Item>(mine));
  std::sort(probes.begin(), probes.end());
  probes.erase(std::unique(probes.begin(), probes.end()), probes.end());
  std::vector<Rank> here(probes.size());
  tessera::sort::ranks_of<Item>(run, probes, here);
  std::vector<Rank> all = here;
  static_assert(sizeof(Rank) == 2 * sizeof(index_t));
  comm.sum(std::span(&all.data()->below, 2 * all.size()));
  for (Border* border : open) narrow_down(*border, here, all);
}

}  // namespace

index_t probes_per_round(index_t ranks, index_t open) {
  // A round divides the open interval by the probes per border and costs two collectives and a
  // third of a microsecond a probe: for few ranks many small rounds are faster, for many ranks few
  // large ones.
  constexpr index_t a_border = 64, most = 8192;
  return std::max(open, std::min(most, a_border * open) / ranks);
}

template <class Item>
std::vector<index_t> exact_cuts(const mpi::Communicator& comm, Run<Item> run,
                                std::span<const index_t> positions) {
  const index_t total = positions.back();
  std::vector<Border> borders;
  for (const index_t position : positions) {
    if (position > 0 && position < total &&
        (borders.empty() || borders.back().position != position))
      borders.push_back({.position = position, .low = 0, .high = run.n});
  }
  while (true) {
    std::vector<Border*> open;
    for (Border& border : borders) {
      if (!border.found()) open.push_back(&border);
    }
    if (open.empty()) break;
    search_round(comm, run, open);
  }
  std::vector<index_t> equal_before;
  for (const Border& border : borders) equal_before.push_back(border.here.equal);
  if (!borders.empty()) comm.sum_before(equal_before);
  std::vector<index_t> cuts;
  std::size_t next = 0;
  for (const index_t position : positions) {
    if (position == 0 || position == total) {
      cuts.push_back(position == 0 ? 0 : run.n);
      continue;
    }
    if (borders[next].position != position) ++next;
    const Border& border = borders[next];
    const index_t taken =
        std::clamp<index_t>(border.missing - equal_before[next], 0, border.here.equal);
    cuts.push_back(border.here.below + taken);
  }
  return cuts;
}

template std::vector<index_t> exact_cuts(const mpi::Communicator&, Run<std::uint32_t>,
                                         std::span<const index_t>);
template std::vector<index_t> exact_cuts(const mpi::Communicator&, Run<std::uint64_t>,
                                         std::span<const index_t>);
template std::vector<index_t> exact_cuts(const mpi::Communicator&, Run<tessera::sort::Pair>,
                                         std::span<const index_t>);

}  // namespace tessera::inline v1::dist::sort
