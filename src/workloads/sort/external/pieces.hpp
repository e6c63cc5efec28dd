#pragma once
// Pieces of rows that fit into memory: reads them from files, sorts them and passes them on column
// by column. Both passes of an out-of-core sort consist of these.

#include <functional>

#include "io/async_file.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

/// Consecutive rows of the input, or of a run.
struct Slice {
  std::string file;  ///< of the run; empty: the input
  layout::Range rows;
  std::vector<index_t> buckets =
      {};  ///< of a divided run: the first rows of its buckets, and rows.end
};

/// A column of the input, or a generated one, as stored in runs.
struct PieceColumn {
  io::Column column;
  bool is_index = false;       ///< the row's number in the input, for --argsort
  bool only_compared = false;  ///< a key that is not in the result
};

[[nodiscard]] index_t rows_of(std::span<const Slice> slices);

using RoomRows = std::vector<layout::Range>;
/// Returns the rows of the slices, concatenated, by bucket, in ascending order of the buckets; one
/// bucket if they are not divided.
[[nodiscard]] std::vector<RoomRows> buckets_of(std::span<const Slice> slices);

/// Results for sorted or divided rows.
struct Sorted {
  index_t rows_read = 0;                             ///< rows that were read
  index_t rows = 0;                                  ///< rows that were passed on
  std::vector<std::uint64_t> first = {}, last = {};  ///< words of the first and the last row
  std::vector<std::uint64_t> samples = {};  ///< words of rows 0, step, 2 step, ...; or of buckets
  std::uint64_t hash_before = 0;            ///< of the rows read, in any order
  std::uint64_t hash_after = 0;             ///< of the rows passed on
  index_t faults = 0;                       ///< out of order, or not the rows read
};

class RowPieces {
 public:
  /// Receives a column's bytes of the sorted rows, and their owner: a deferred writer holds a
  /// reference. Memory without an owner stays valid until the queue has completed the work
  /// requested so far. The number and samples of the rows are known then, the hashes may not be.
  using Sink =
      std::function<void(const Sorted& rows, std::size_t column, std::span<const std::byte> data,
                         std::shared_ptr<const void> memory)>;

  virtual ~RowPieces() = default;
  /// Returns the columns that runs contain.
  [[nodiscard]] virtual const std::vector<PieceColumn>& columns() const = 0;
  [[nodiscard]] virtual io::Handle stored_type(const PieceColumn& column) const = 0;
  /// Returns the bytes of a row while it is sorted and the previous column is still written.
  [[nodiscard]] virtual index_t row_bytes() const = 0;
  /// Returns the bytes of the kernels' buffers, besides the rows.
  [[nodiscard]] virtual index_t buffer_bytes() const = 0;
  /// Returns the number of words of a row (key_words.hpp): rows equal to --unique have equal words.
  [[nodiscard]] virtual std::size_t words() const = 0;
  /// Allocates for calls with at most this number of rows; 0: releases the memory. Local.
  virtual void prepare(index_t rows) = 0;
  /// May start to read the rows of a sort() or divide() call, at most the one after next: the
  /// calls follow for all expected rows, in that order. Local.
  virtual void expect(std::span<const Slice> slices) = 0;
  /// Returns the file traffic of expected rows since the last call. Local.
  [[nodiscard]] virtual io::FileTraffic take_traffic() = 0;
  /// Sorts the concatenated rows of the slices stably, and passes on the first `most` at most; with
  /// --unique, the first of each key. Local.
  [[nodiscard]] virtual Sorted sort(std::span<const Slice> slices, index_t most, index_t step,
                                    const Sink& sink, mpi::Phases& phases) = 0;
  /// Returns the words of a run's rows. Local.
  [[nodiscard]] virtual std::vector<std::uint64_t> words_of(const Slice& slice) const = 0;

  /// Returns some rows of the whole input, for divide_by() on every rank; empty if rows are not
  /// divided. Local.
  [[nodiscard]] virtual std::string sample() const { return {}; }
  /// Plans a division of rows into about the given number of buckets (second argument), unless the
  /// sample predicts a bucket with more rows than the third. Returns an identifier of the division.
  [[nodiscard]] virtual std::optional<std::uint64_t> divide_by(const std::string&, index_t,
                                                               index_t) {
    return std::nullopt;
  }
  /// Passes on the rows of a slice in buckets, unordered within each. Samples are the buckets'
  /// first rows, and the number of rows. Local.
  [[nodiscard]] virtual Sorted divide(const Slice&, const Sink&, mpi::Phases&) { return {}; }
};

/// Makes the pieces of a problem. Reading ahead waits for the queue's writes of the same memory;
/// the queue must end first.
[[nodiscard]] std::unique_ptr<RowPieces> make_pieces(const Inputs& inputs, const Problem& problem,
                                                     bool verify, bool with_index,
                                                     io::FileQueue& queue);
[[nodiscard]] std::unique_ptr<RowPieces> make_key_pieces(const Inputs& inputs,
                                                         const Problem& problem, bool verify,
                                                         io::FileQueue& queue);
[[nodiscard]] std::unique_ptr<RowPieces> make_table_pieces(const Inputs& inputs,
                                                           const Problem& problem, bool verify,
                                                           bool with_index, io::FileQueue& queue);

/// Paths in runs of data that are not datasets of the input.
inline constexpr const char* keys_path = "/tessera_keys";
inline constexpr const char* index_path = "/tessera_index";
inline constexpr const char* samples_path = "/tessera_samples";

}  // namespace tessera::inline v1::workloads::sort
