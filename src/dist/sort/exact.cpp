// Exact sort: sorts locally, cuts at exact splitters, exchanges once, merges. Every key is sent at
// most once.

#include "dist/sort/algorithms.hpp"
#include "dist/sort/splitting.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {

template <class Item>
index_t exact(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
              mpi::Phases& phases) {
  sort_locally(comm, room, method, phases);
  if (comm.size() == 1) return room.n;
  Counts counts;
  {
    const mpi::PhaseScope scope(phases, "split");
    const layout::BlockMap shares(comm.sum(room.n), comm.size());
    counts = counts_of(comm, exact_cuts(comm, Run<Item>{room.items, room.n}, shares.offsets()));
  }
  const index_t n = counts.received();
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    mpi::exchange_items(comm, std::span<const Item>(room.items, static_cast<std::size_t>(room.n)),
                        counts.to, std::span<Item>(room.spare, static_cast<std::size_t>(n)),
                        counts.from);
  }
  merge_received(counts, room.spare, room.items, method, phases);
  return n;
}
TESSERA_SORT_INSTANTIATE_DISTRIBUTED(exact);

}  // namespace tessera::inline v1::dist::sort
