#pragma once
// What the algorithms share; private to this folder.

#include "dist/sort/sort.hpp"
#include "kernels/sort/runs.hpp"

namespace tessera::dist::sort {

using tessera::sort::Run;

/// Items are bits (u32, u64) or pairs here.
template <class Item>
index_t exact(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
              mpi::Phases& phases);
template <class Item>
index_t samplesort(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                   mpi::Phases& phases);

template <class Item>
index_t rounds(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
               mpi::Phases& phases);

/// The first step of the first two: this rank's items in order. Collective, for a kernel may refuse
/// its keys.
template <class Item>
void sort_locally(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                  mpi::Phases& phases);

/// How many items go to each rank when they are cut there, and how many come.
struct Counts {
  std::vector<index_t> to, from;
  [[nodiscard]] index_t received() const;
};
/// items[cuts[r] : cuts[r + 1]] go to rank r. Collective.
[[nodiscard]] Counts counts_of(const mpi::Communicator& comm, const std::vector<index_t>& cuts);

/// Where the shares of BlockMap cut a sequence of which this rank holds n items, those of lower
/// ranks before them. Collective.
[[nodiscard]] std::vector<index_t> cuts_of_shares(const mpi::Communicator& comm, index_t n);

/// to[0 : received] = the merge of the runs that came, one from every rank, lying in `from` one
/// after another.
template <class Item>
void merge_received(const Counts& counts, const Item* from, Item* to, const Method& method,
                    mpi::Phases& phases);

/// At the end of an algorithm's file.
#define TESSERA_SORT_INSTANTIATE_DISTRIBUTED(algorithm)                                           \
  template index_t algorithm(const mpi::Communicator&, const Room<std::uint32_t>&, const Method&, \
                             mpi::Phases&);                                                       \
  template index_t algorithm(const mpi::Communicator&, const Room<std::uint64_t>&, const Method&, \
                             mpi::Phases&);                                                       \
  template index_t algorithm(const mpi::Communicator&, const Room<Pair>&, const Method&,          \
                             mpi::Phases&)

}  // namespace tessera::dist::sort
