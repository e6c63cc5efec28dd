#pragma once
// Rows that fit into memory, read from files, sorted and handed on column by column: what both
// passes of an out-of-core sort are made of.

#include <functional>

#include "io/async_file.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::workloads::sort {

/// Consecutive rows of the input, or of a run.
struct Slice {
  std::string file;  ///< of the run; empty: the input
  layout::Range rows;
  std::vector<index_t> buckets =
      {};  ///< of a divided run: the first rows of those here, and rows.end
};

/// A column of the input, or made here, as runs hold it.
struct PieceColumn {
  io::Column column;
  bool is_index = false;  ///< the row's number in the input, for --argsort
};

[[nodiscard]] index_t rows_of(std::span<const Slice> slices);

using RoomRows = std::vector<layout::Range>;
/// Rows of the slices, which lie one after the other, by the buckets that they are in, none of
/// which comes before another one ahead of it; one bucket where they are not divided.
[[nodiscard]] std::vector<RoomRows> buckets_of(std::span<const Slice> slices);

/// What is known of sorted rows, or of divided ones.
struct Sorted {
  index_t came = 0;                                  ///< rows that were read
  index_t rows = 0;                                  ///< handed on
  std::vector<std::uint64_t> first = {}, last = {};  ///< words of the first and the last row
  std::vector<std::uint64_t> samples = {};  ///< words of rows 0, step, 2 step, ...; or of buckets
  std::uint64_t hash_before = 0;            ///< of the rows that came, in any order
  std::uint64_t hash_after = 0;             ///< of the rows that were handed on
  index_t faults = 0;                       ///< out of order, or not what came
};

class Pieces {
 public:
  /// Gets a column's bytes of the sorted rows, and what they live in: who writes them later keeps
  /// it. What has no owner stays until the queue has done what it was asked for by then. Number and
  /// samples of the rows are known then, the hashes may not be.
  using Sink =
      std::function<void(const Sorted& rows, std::size_t column, std::span<const std::byte> data,
                         std::shared_ptr<const void> memory)>;

  virtual ~Pieces() = default;
  /// What runs hold.
  [[nodiscard]] virtual const std::vector<PieceColumn>& columns() const = 0;
  [[nodiscard]] virtual io::Handle stored_type(const PieceColumn& column) const = 0;
  /// Bytes that a row takes while it is sorted and the column before is still written.
  [[nodiscard]] virtual index_t row_bytes() const = 0;
  /// Words of a row (key_words.hpp): rows that are the same to --unique have the same ones.
  [[nodiscard]] virtual std::size_t words() const = 0;
  /// No call will be for more rows than these. Local.
  virtual void prepare(index_t rows) = 0;
  /// May begin to read what sort() or divide() will be called for next but one at most: they are
  /// called for all that was expected, in that order. Local.
  virtual void expect(std::span<const Slice> slices) = 0;
  /// Of what was expected, since the last call. Local.
  [[nodiscard]] virtual io::FileTraffic take_traffic() = 0;
  /// Sorts the rows of the slices, one after the other, stably, and hands on the first of them, at
  /// most `most`; where that is asked for, the first of each key. Local.
  [[nodiscard]] virtual Sorted sort(std::span<const Slice> slices, index_t most, index_t step,
                                    const Sink& sink, mpi::Phases& phases) = 0;
  /// The words of a run's rows. Local.
  [[nodiscard]] virtual std::vector<std::uint64_t> words_of(const Slice& slice) const = 0;

  /// Some rows of all of the input, for divide_by() of every rank; empty where rows are not
  /// divided. Local.
  [[nodiscard]] virtual std::string sample() const { return {}; }
  /// Rows will be divided into about so many buckets, unless one of them would have more than
  /// `most` rows by that sample. Returns what names the division.
  [[nodiscard]] virtual std::optional<std::uint64_t> divide_by(const std::string&, index_t,
                                                               index_t) {
    return std::nullopt;
  }
  /// Hands on the rows of a slice in buckets, none in order. Samples are the buckets' first rows,
  /// and the number of rows. Local.
  [[nodiscard]] virtual Sorted divide(const Slice&, const Sink&, mpi::Phases&) { return {}; }
};

/// What is read ahead waits for what the queue writes of the same memory; the queue ends before.
[[nodiscard]] std::unique_ptr<Pieces> make_pieces(const Inputs& inputs, const Problem& problem,
                                                  bool verify, bool with_index,
                                                  io::FileQueue& queue);
[[nodiscard]] std::unique_ptr<Pieces> make_key_pieces(const Inputs& inputs, const Problem& problem,
                                                      bool verify, io::FileQueue& queue);
[[nodiscard]] std::unique_ptr<Pieces> make_table_pieces(const Inputs& inputs,
                                                        const Problem& problem, bool verify,
                                                        bool with_index, io::FileQueue& queue);

/// Where runs keep what is not a dataset of the input.
inline constexpr const char* keys_path = "/tessera_keys";
inline constexpr const char* index_path = "/tessera_index";
inline constexpr const char* samples_path = "/tessera_samples";

}  // namespace tessera::workloads::sort
