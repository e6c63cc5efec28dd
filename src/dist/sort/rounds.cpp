// The exact sort with little additional memory: sorts in parts and exchanges in rounds. In a round
// every rank receives the next piece of its share from all; sent pages are returned to the system
// before the next.

#include <algorithm>

#include "dist/sort/algorithms.hpp"
#include "dist/sort/splitting.hpp"
#include "kernels/sort/in_parts.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/pages.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// Returns the beginnings of the pieces of all shares: piece t of rank r at number r *
/// pieces_of_share + t.
std::vector<index_t> piece_positions(const layout::BlockMap& shares) {
  std::vector<index_t> positions;
  for (index_t r = 0; r < shares.parts(); ++r) {
    const layout::BlockMap pieces(shares.size(r), pieces_of_share);
    for (index_t t = 0; t < pieces_of_share; ++t)
      positions.push_back(shares.begin(r) + pieces.begin(t));
  }
  positions.push_back(shares.extent());
  return positions;
}

template <class Item>
void move_back(Item* from, Item* to, index_t n) {
  constexpr index_t at_once = (index_t{4} << 20) / static_cast<index_t>(sizeof(Item));
  for (index_t i = 0; i < n; i += at_once) {
    const index_t count = std::min(at_once, n - i);
    std::copy_n(from + i, count, to + i);
    machine::give_back(from + i, count * static_cast<index_t>(sizeof(Item)));
  }
}

template <class Item>
void sort_here(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
               mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "sort");
  const Progress progress = progress_of("sort", room.n, static_cast<double>(room.n), comm.size());
  const index_t scratch = parts_scratch(room.n);
  mpi::together(comm, "sort", [&] {
    const mpi::Computing computing;
    machine::parallel(method.threads, [&] {
      tessera::sort::sort_in_parts(method.kernel,
                                   std::span(room.items, static_cast<std::size_t>(room.n)),
                                   std::span(room.spare, static_cast<std::size_t>(scratch)),
                                   Order::ascending, method.tuning);
    });
  });
  machine::give_back(room.spare, scratch * static_cast<index_t>(sizeof(Item)));
}

}  // namespace

index_t parts_scratch(index_t n) {
  constexpr index_t least = 1 << 16;  // smaller parts would not be faster
  return std::min(n, std::max(least, ceil_div(n, pieces_of_share / 2)));
}

template <class Item>
index_t rounds(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
               mpi::Phases& phases) {
  if constexpr (std::is_same_v<Item, Pair>) {
    return exact(comm, room, method, phases);  // pairs need a stable order, which parts do not keep
  } else {
    sort_here(comm, room, method, phases);
    if (comm.size() == 1) return room.n;
    const layout::BlockMap shares(comm.sum(room.n), comm.size());
    std::vector<index_t> cuts;
    {
      const mpi::PhaseScope scope(phases, "split");
      cuts = exact_cuts(comm, Run<Item>{room.items, room.n}, piece_positions(shares));
    }
    constexpr auto bytes = static_cast<index_t>(sizeof(Item));
    index_t n = 0;
    for (index_t t = 0; t < pieces_of_share; ++t) {
      std::vector<index_t> from, to;
      for (index_t r = 0; r < comm.size(); ++r) {
        const auto piece = static_cast<std::size_t>(r * pieces_of_share + t);
        from.push_back(cuts[piece]);
        to.push_back(cuts[piece + 1] - cuts[piece]);
      }
      Counts counts{to, comm.all_to_all(to)};
      const index_t received = counts.received();
      machine::Buffer<Item> arrived;
      mpi::together(comm, "allocate", [&] { arrived = machine::Buffer<Item>(received); });
      {
        const mpi::PhaseScope scope(phases, "exchange");
        const mpi::InFlight flight(phases, comm.size());
        mpi::exchange_items(comm,
                            std::span<const Item>(room.items, static_cast<std::size_t>(room.n)),
                            from, counts.to, arrived.span(), counts.from);
        for (std::size_t r = 0; r < to.size(); ++r)
          machine::give_back(room.items + from[r], to[r] * bytes);
      }
      merge_received(counts, std::as_const(arrived).data(), room.spare + n, method, phases);
      n += received;
    }
    const mpi::PhaseScope scope(phases, "merge");
    move_back(room.spare, room.items, n);
    return n;
  }
}
TESSERA_SORT_INSTANTIATE_DISTRIBUTED(rounds);

}  // namespace tessera::inline v1::dist::sort
