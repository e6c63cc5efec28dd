#pragma once
// Verification of a sort: order, shares and content. One pass over the result; content is compared
// by hashes.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dist/sort/argsort.hpp"
#include "dist/sort/first_rows.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::sort {

/// The seed of the hashes, and the threads that compute them.
struct Hashing {
  std::uint64_t seed = 0;
  int threads = 1;
};

/// Returns the content of all ranks' keys. Collective.
template <class T>
[[nodiscard]] tessera::sort::Content content(const mpi::Communicator& comm, std::span<const T> keys,
                                             Hashing hashing);

/// Returns the number of faults of sorted keys, the same on every rank: ranks with keys out of
/// order, borders between ranks out of order, shares of another size than BlockMap's, and one if
/// the content differs from the input's. Collective.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input, Hashing hashing);

/// As above, for keys that this rank has inspected. Collective.
template <class T>
[[nodiscard]] index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
                             const tessera::sort::Content& input,
                             const tessera::sort::Inspection& seen);

/// As above, for a permutation and the columns that it sorts: neighbours out of order by (columns,
/// index), and one if the indices are not those of all elements. Collective.
[[nodiscard]] index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
                             const std::vector<KeyColumn>& columns, Indices permutation,
                             Hashing hashing);

/// A permutation of rows by one digit.
struct DigitOrder {
  const SortedDigits& sorted;
  Indices permutation;
};
/// As above, for rows ordered by one digit: pairs out of order or of another row than the
/// permutation's, and one if they are not all rows, each with its digit computed from the columns.
/// Collective.
[[nodiscard]] index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
                             const std::vector<KeyColumn>& columns, const DigitOrder& order,
                             Hashing hashing);

/// Returns whether the indices of all ranks are 0 .. n-1, each once (a false positive for about one
/// seed in 2^62). Collective.
[[nodiscard]] bool is_permutation(const mpi::Communicator& comm, const layout::BlockMap& map,
                                  Indices indices, Hashing hashing);

/// A key within rows.
struct KeyInRow {
  KeyForm form;
  Order order = Order::ascending;
  index_t offset = 0;
};

/// Verifies the order of sorted rows in place, from their key columns as these become available,
/// the most significant first, one by one or several together.
class OrderOfRows {
 public:
  /// Starts for the rows of the permutation on this rank, which must outlive the object, and the
  /// total number of key columns.
  OrderOfRows(const mpi::Communicator& comm, Indices permutation, std::size_t columns, int threads);

  /// Compares the next key columns of all rows, in sorted order. Collective.
  void look_at(const KeyColumn& sorted);
  /// Compares a column in input order through the permutation; one rank only.
  void look_up(const KeyColumn& column);

  /// Announces the next key columns, parts of the same rows, which look_at then receives piece by
  /// piece; last_row is this rank's last row, if it has any. Collective.
  void expect(std::vector<KeyInRow> keys, index_t row_bytes, const std::byte* last_row);
  /// Compares these rows, from a multiple of eight on; row_before is their predecessor, if there is
  /// one on this rank. Callable by any thread, in any order.
  void look_at(const std::byte* rows_here, const std::byte* row_before, layout::Range rows);

  /// Returns the number of neighbours out of order by (columns, index). Collective.
  [[nodiscard]] index_t faults() const;

 private:
  template <class WordOf>
  void look(layout::Range rows, const WordOf& word_of);
  [[nodiscard]] KeyColumn key_at(const KeyInRow& key, const std::byte* row) const;

  mpi::Communicator comm_;
  Indices permutation_;
  std::size_t columns_ = 0, seen_ = 0;  // all columns, and those before the expected ones
  std::vector<KeyInRow> expected_;
  index_t row_bytes_ = 0;
  int threads_;
  std::optional<std::uint64_t> index_before_;  // of the rank before
  std::vector<std::uint64_t> words_before_;    // its last row's words of the expected columns
  machine::Buffer<unsigned char>
      equal_;  // one bit per row: whether it equals its predecessor so far
  std::atomic<index_t> wrong_ = 0;
};

/// Returns the number of rows of the range that are out of order by (columns, place) with respect
/// to their predecessors; the rows are on this rank, in the order of `places`. Sets a bit of
/// `equal` for each row, eight to a byte, to whether the columns equal those of its predecessor;
/// the range begins at a multiple of eight. Single-threaded.
[[nodiscard]] index_t look_at_rows(const std::vector<KeyColumn>& columns, Indices places,
                                   layout::Range rows, unsigned char* equal);
[[nodiscard]] inline bool is_set(const unsigned char* equal, index_t row) {
  return (equal[row / 8] >> row % 8 & 1) != 0;
}

/// Returns the elements of this rank that occur in the indices of all ranks, as global indices,
/// ascending per requesting rank. Collective.
[[nodiscard]] std::vector<std::uint64_t> named_here(const mpi::Communicator& comm,
                                                    const layout::BlockMap& map, Indices indices,
                                                    int threads);

/// A permuted column: this rank's parts of it, and named_here() of the permutation.
struct CarriedColumn {
  ColumnView before, after;
  Indices permutation, named;
};
/// Returns whether after[j] is element permutation[j] of the column before: compares sums over all
/// ranks of a hash of every permuted element with its index. Collective.
[[nodiscard]] bool carried_whole(const mpi::Communicator& comm, const layout::BlockMap& map,
                                 const CarriedColumn& column, Hashing hashing);

/// Return the two sums separately, for a column that is permuted in place: one before, one after.
[[nodiscard]] std::uint64_t hash_of_places(ColumnView column, layout::Range places,
                                           Hashing hashing);
[[nodiscard]] std::uint64_t hash_of_sources(ColumnView column, Indices permutation,
                                            Hashing hashing);

/// Combines hashes[j] with a hash of element j: over all columns, a hash of whole rows. Local.
void hash_rows(ColumnView column, std::span<std::uint64_t> hashes, int threads);

}  // namespace tessera::inline v1::dist::sort
