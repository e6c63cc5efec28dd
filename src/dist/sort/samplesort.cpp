// Parallel sorting by regular sampling (PSRS, Shi and Schaeffer 1992): the standard exchange, after
// which shares differ by a factor of up to two, and a second one that moves the borders to the ends
// of the shares.

#include <algorithm>
#include <tuple>

#include "dist/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// An item and its location, which breaks ties between equal items, so that no key is too frequent.
template <class Item>
struct Sample {
  Item item;
  index_t rank;
  index_t at;
  friend bool operator<(const Sample& a, const Sample& b) {
    if (a.item < b.item || b.item < a.item) return a.item < b.item;
    return std::tie(a.rank, a.at) < std::tie(b.rank, b.at);
  }
};

/// Returns the samples at ranks/2, ranks + ranks/2, ... of `ranks` regular ones from every rank
/// that holds items.
template <class Item>
std::vector<Sample<Item>> pivots_of(const mpi::Communicator& comm, Run<Item> run) {
  const index_t ranks = comm.size();
  std::vector<Sample<Item>> mine;
  for (index_t j = 0; j < ranks; ++j) {
    const index_t at = j * (run.n / ranks) + std::min(j, run.n % ranks);
    mine.push_back(at < run.n ? Sample<Item>{run.data[at], comm.rank(), at}
                              : Sample<Item>{{}, -1, 0});
  }
  std::vector<Sample<Item>> all = comm.all_gather(std::span<const Sample<Item>>(mine));
  std::erase_if(all, [](const Sample<Item>& sample) { return sample.rank < 0; });
  std::sort(all.begin(), all.end());
  std::vector<Sample<Item>> pivots;
  const auto count = static_cast<index_t>(all.size());
  for (index_t r = 1; r < ranks && count > 0; ++r)
    pivots.push_back(
        all[static_cast<std::size_t>(std::min(count - 1, (r * count + count / 2) / ranks))]);
  return pivots;
}

template <class Item>
std::vector<index_t> cuts_at(const mpi::Communicator& comm, Run<Item> run,
                             const std::vector<Sample<Item>>& pivots) {
  std::vector<index_t> cuts{0};
  for (const auto& pivot : pivots) {
    cuts.push_back(pivot.rank == comm.rank() ? pivot.at
                   : pivot.rank < comm.rank()
                       ? tessera::sort::lower_bound(run.data, run.n, pivot.item)
                       : tessera::sort::upper_bound(run.data, run.n, pivot.item));
  }
  cuts.resize(static_cast<std::size_t>(comm.size()), run.n);
  cuts.push_back(run.n);
  return cuts;
}

}  // namespace

template <class Item>
index_t samplesort(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                   mpi::Phases& phases) {
  sort_locally(comm, room, method, phases);
  if (comm.size() == 1) return room.n;
  const Run<Item> run{room.items, room.n};
  Counts counts;
  {
    const mpi::PhaseScope scope(phases, "split");
    counts = counts_of(comm, cuts_at(comm, run, pivots_of(comm, run)));
  }
  const index_t received = counts.received();
  machine::Buffer<Item> unmerged, merged;
  mpi::together(comm, "allocate", [&] {
    unmerged = machine::Buffer<Item>(received);
    merged = machine::Buffer<Item>(received);
  });
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    mpi::exchange_items(comm, std::span<const Item>(room.items, static_cast<std::size_t>(room.n)),
                        counts.to, unmerged.span(), counts.from);
  }
  merge_received(counts, unmerged.data(), merged.data(), method, phases);
  const mpi::PhaseScope scope(phases, "exchange");
  counts = counts_of(comm, cuts_of_shares(comm, received));
  const index_t n = counts.received();
  const mpi::InFlight flight(phases, comm.size());
  mpi::exchange_items(comm, std::as_const(merged).span(), counts.to,
                      std::span<Item>(room.items, static_cast<std::size_t>(n)), counts.from);
  return n;
}
TESSERA_SORT_INSTANTIATE_DISTRIBUTED(samplesort);

}  // namespace tessera::inline v1::dist::sort
