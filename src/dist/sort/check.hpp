#pragma once
// Is the result in order, and is it the input?

#include <cstdint>
#include <span>

#include "dist/sort/first_rows.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::sort {

/// The content of what all ranks hold. Collective.
template <class T>
[[nodiscard]] tessera::sort::Content content(const mpi::Communicator& comm, std::span<const T> keys,
                                             std::uint64_t seed, int threads);

/// How many things are wrong with sorted keys, the same on every rank: ranks whose keys are out of order,
/// borders between ranks that are, shares of another size than BlockMap's, and one if the content is not that
/// of the input. Collective.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input, std::uint64_t seed, int threads);

/// The same for keys that this rank has looked at.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input, const tessera::sort::Inspection& seen);

/// The same for a permutation and the columns it sorts: neighbours out of order by (columns, index), and one
/// if the indices are not those of all elements. Collective.
[[nodiscard]] index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
                             const std::vector<KeyColumn>& columns, Indices permutation, std::uint64_t seed,
                             int threads);

/// Whether the indices of all ranks are 0 .. n-1, each once (wrongly yes for one seed in 2^62 or so).
/// Collective.
[[nodiscard]] bool is_permutation(const mpi::Communicator& comm, const layout::BlockMap& map, Indices indices,
                                  std::uint64_t seed);

/// Whether rows that were brought in order are in it, seen where they lie: it is told of the key columns, one
/// after the other as they become known, the first weighing most. Collective.
class OrderOfRows {
 public:
  /// For as many rows as the permutation has on this rank; it stays.
  OrderOfRows(const mpi::Communicator& comm, Indices permutation, int threads);
  void look_at(const KeyColumn& sorted);
  /// On one rank: a column that lies as it came, its rows where the permutation says.
  void look_up(const KeyColumn& column);
  /// Neighbours out of order by (columns, index).
  [[nodiscard]] index_t faults() const;

 private:
  void look(const KeyColumn& column, const std::uint64_t* places);

  mpi::Communicator comm_;
  Indices permutation_;
  int threads_;
  machine::Buffer<unsigned char> equal_;  // whether a row equals the one before so far
  index_t wrong_ = 0;
};

/// Of rows that lie on this rank, in the order of `places`, those of the range, each against the one before:
/// how many are out of order by (columns, place). equal[j] becomes whether row j is equal to the one before
/// it by the columns, 0 or 1. By this thread.
[[nodiscard]] index_t look_at_rows(const std::vector<KeyColumn>& columns, Indices places, layout::Range rows,
                                   unsigned char* equal);

/// Whether after[j] is element permutation[j] of the column whose part on this rank is `before`: by the sums
/// over all ranks of a hash of every element that is in the permutation with its index. Collective.
[[nodiscard]] bool carried_whole(const mpi::Communicator& comm, const layout::BlockMap& map,
                                 ColumnView before, ColumnView after, Indices permutation, std::uint64_t seed,
                                 int threads);

/// The same in two steps, of a column that is permuted in place: the sum before, and what it is after.
[[nodiscard]] std::uint64_t hash_of_places(ColumnView column, index_t first, index_t n, std::uint64_t seed,
                                           int threads);
[[nodiscard]] std::uint64_t hash_of_sources(ColumnView column, Indices permutation, std::uint64_t seed,
                                            int threads);

/// hashes[j] = a hash of itself and of element j: over all columns, a hash of whole rows. Local.
void hash_rows(ColumnView column, std::span<std::uint64_t> hashes, int threads);

}  // namespace tessera::dist::sort
