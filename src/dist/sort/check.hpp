#pragma once
// Is the result in order, and is it the input?

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dist/sort/argsort.hpp"
#include "dist/sort/first_rows.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::sort {

/// The content of what all ranks hold. Collective.
template <class T>
[[nodiscard]] tessera::sort::Content content(const mpi::Communicator& comm, std::span<const T> keys,
                                             std::uint64_t seed, int threads);

/// How many things are wrong with sorted keys, the same on every rank: ranks whose keys are out of
/// order, borders between ranks that are, shares of another size than BlockMap's, and one if the
/// content is not that of the input. Collective.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input, std::uint64_t seed, int threads);

/// The same for keys that this rank has looked at.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input,
                             const tessera::sort::Inspection& seen);

/// The same for a permutation and the columns it sorts: neighbours out of order by (columns,
/// index), and one if the indices are not those of all elements. Collective.
[[nodiscard]] index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
                             const std::vector<KeyColumn>& columns, Indices permutation,
                             std::uint64_t seed, int threads);

/// The same for rows that one digit brought in order, from what was kept of it: pairs out of order
/// or of another row than the permutation's, and one if they are not all rows, each with the digit
/// that the columns give it. Collective.
[[nodiscard]] index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
                             const std::vector<KeyColumn>& columns, const SortedDigits& sorted,
                             Indices permutation, std::uint64_t seed, int threads);

/// Whether the indices of all ranks are 0 .. n-1, each once (wrongly yes for one seed in 2^62 or
/// so). Collective.
[[nodiscard]] bool is_permutation(const mpi::Communicator& comm, const layout::BlockMap& map,
                                  Indices indices, std::uint64_t seed, int threads = 1);

/// A key inside of rows.
struct KeyInRow {
  KeyForm form;
  Order order = Order::ascending;
  index_t offset = 0;
};

/// Whether rows that were brought in order are in it, seen where they lie: it is told of the key
/// columns, one after the other as they become known, the first weighing most, or of some together.
class OrderOfRows {
 public:
  /// For as many rows as the permutation has on this rank, which stays, and all of the key columns.
  OrderOfRows(const mpi::Communicator& comm, Indices permutation, std::size_t columns, int threads);

  /// The next key columns of all rows, as they lie in the result. Collective.
  void look_at(const KeyColumn& sorted);
  /// On one rank: a column that lies as it came, its rows where the permutation says.
  void look_up(const KeyColumn& column);

  /// The next ones, parts of the same rows, of which look_at will be told piece by piece; last_row
  /// is this rank's last one, where it has any. Collective.
  void expect(std::vector<KeyInRow> keys, index_t row_bytes, const std::byte* last_row);
  /// Of these rows, from a multiple of eight on; row_before is the one before them, if there is one
  /// on this rank. By any thread, in any order.
  void look_at(const std::byte* rows_here, const std::byte* row_before, layout::Range rows);

  /// Neighbours out of order by (columns, index). Collective.
  [[nodiscard]] index_t faults() const;

 private:
  template <class WordOf>
  void look(layout::Range rows, const WordOf& word_of);
  [[nodiscard]] KeyColumn key_at(const KeyInRow& key, const std::byte* row) const;

  mpi::Communicator comm_;
  Indices permutation_;
  std::size_t columns_ = 0, seen_ = 0;  // all that there are, and those before what is expected
  std::vector<KeyInRow> expected_;
  index_t row_bytes_ = 0;
  int threads_;
  std::optional<std::uint64_t> index_before_;  // of the rank before
  std::vector<std::uint64_t> words_before_;    // its last row's of the columns that are expected
  machine::Buffer<unsigned char> equal_;  // a bit a row: whether it equals the one before so far
  std::atomic<index_t> wrong_ = 0;
};

/// Of rows that lie on this rank, in the order of `places`, those of the range, each against the
/// one before: how many are out of order by (columns, place). A bit of `equal` tells of each row,
/// eight to a byte, whether it is equal to the one before it by the columns; the range begins at a
/// multiple of eight. By this thread.
[[nodiscard]] index_t look_at_rows(const std::vector<KeyColumn>& columns, Indices places,
                                   layout::Range rows, unsigned char* equal);
[[nodiscard]] inline bool is_set(const unsigned char* equal, index_t row) {
  return (equal[row / 8] >> row % 8 & 1) != 0;
}

/// The elements of this rank that the indices of all ranks name, by their global indices, ascending
/// in what each rank names. Collective.
[[nodiscard]] std::vector<std::uint64_t> named_here(const mpi::Communicator& comm,
                                                    const layout::BlockMap& map, Indices indices,
                                                    int threads);

/// Whether after[j] is element permutation[j] of the column whose part on this rank is `before`: by
/// the sums over all ranks of a hash of every element that is in the permutation with its index;
/// `named` is what named_here says of it. Collective.
[[nodiscard]] bool carried_whole(const mpi::Communicator& comm, const layout::BlockMap& map,
                                 ColumnView before, ColumnView after, Indices permutation,
                                 Indices named, std::uint64_t seed, int threads);

/// The same in two steps, of a column that is permuted in place: the sum before, and what it is
/// after.
[[nodiscard]] std::uint64_t hash_of_places(ColumnView column, index_t first, index_t n,
                                           std::uint64_t seed, int threads);
[[nodiscard]] std::uint64_t hash_of_sources(ColumnView column, Indices permutation,
                                            std::uint64_t seed, int threads);

/// hashes[j] = a hash of itself and of element j: over all columns, a hash of whole rows. Local.
void hash_rows(ColumnView column, std::span<std::uint64_t> hashes, int threads);

}  // namespace tessera::dist::sort
