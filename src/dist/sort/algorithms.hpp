#pragma once
// Declarations shared by the distributed sorts; private to this folder.

#include "base/progress.hpp"
#include "dist/sort/sort.hpp"
#include "kernels/sort/runs.hpp"

namespace tessera::inline v1::dist::sort {

using tessera::sort::Run;

/// Items are ordered bits (u32, u64) or pairs here.
template <class Item>
index_t exact(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
              mpi::Phases& phases);
template <class Item>
index_t samplesort(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                   mpi::Phases& phases);

template <class Item>
index_t rounds(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
               mpi::Phases& phases);

/// Shows the progress of all ranks by the keys of this one, which come in order by `parts` parts.
[[nodiscard]] Progress progress_of(const char* step, index_t keys, double parts, index_t ranks);

/// Sorts this rank's items: the first step of exact and samplesort. Collective, since a kernel may
/// reject its keys.
template <class Item>
void sort_locally(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                  mpi::Phases& phases);

/// The items to each rank and from each rank in an exchange.
struct Counts {
  std::vector<index_t> to, from;
  [[nodiscard]] index_t received() const;
};
/// Returns the counts if items[cuts[r] : cuts[r + 1]] are sent to rank r. Collective.
[[nodiscard]] Counts counts_of(const mpi::Communicator& comm, const std::vector<index_t>& cuts);

/// Returns the cuts at the shares of BlockMap in a sequence of which this rank holds n items, after
/// those of lower ranks, by an exclusive scan of n. Collective.
[[nodiscard]] std::vector<index_t> cuts_of_shares(const mpi::Communicator& comm, index_t n);

/// Moves elements, of which ranks hold any numbers, in order to equal shares. Collective.
[[nodiscard]] std::vector<std::byte> in_even_shares(const mpi::Communicator& comm,
                                                    const std::vector<std::byte>& mine,
                                                    index_t element_bytes);

/// Merges the received runs, one from every rank and contiguous in `from`, into to[0 : received].
template <class Item>
void merge_received(const Counts& counts, const Item* from, Item* to, const Method& method,
                    mpi::Phases& phases);

/// Instantiates an algorithm; at the end of its file.
#define TESSERA_SORT_INSTANTIATE_DISTRIBUTED(algorithm)                                           \
  template index_t algorithm(const mpi::Communicator&, const Room<std::uint32_t>&, const Method&, \
                             mpi::Phases&);                                                       \
  template index_t algorithm(const mpi::Communicator&, const Room<std::uint64_t>&, const Method&, \
                             mpi::Phases&);                                                       \
  template index_t algorithm(const mpi::Communicator&, const Room<Pair>&, const Method&,          \
                             mpi::Phases&)

}  // namespace tessera::inline v1::dist::sort
