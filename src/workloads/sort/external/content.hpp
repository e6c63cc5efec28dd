#pragma once
// Carried columns whose elements have parts of variable length, in an out-of-core sort: runs hold
// the numbers of the rows instead, and rank 0 carries the elements at the end, in rounds.

#include <algorithm>
#include <optional>

#include "io/raw_file.hpp"
#include "workloads/sort/external/pieces.hpp"

namespace tessera::inline v1::workloads::sort {

class RowContent {
 public:
  RowContent(const Inputs& inputs, const Problem& problem);
  [[nodiscard]] bool any() const { return !columns_.empty(); }
  /// Returns the bytes of carrying them, of those that a rank may use.
  [[nodiscard]] index_t memory(index_t allowance) const {
    return std::min(problem_.content_bytes, allowance);
  }
  /// Adds the columns with this number of rows to the outputs.
  void add_to(run::Outputs& outputs, index_t rows);
  /// Begins the file of row numbers. Collective.
  void begin(const mpi::Communicator& comm, const std::string& file);
  /// Keeps the numbers of the rows that follow each other in the result, from `first` on. Local.
  void keep(index_t first, std::span<const std::byte> numbers) const;
  /// Releases the memory of the pieces, whose rows are all kept, and writes the columns in `memory`
  /// bytes. Collective.
  void carry(const mpi::Communicator& comm, RowPieces& pieces, run::Outputs& outputs,
             index_t memory);

 private:
  const Inputs& inputs_;
  const Problem& problem_;
  std::vector<const io::Column*> columns_;
  std::vector<std::size_t> places_;  ///< of the columns in the outputs
  index_t rows_ = 0;
  std::string file_;
  std::optional<io::RawFile> order_;
};

/// Returns whether an out-of-core sort carries the column although its elements are not
/// self-contained: references are not, as all of them are held to be translated.
[[nodiscard]] bool is_carried_in_rounds(const Problem& problem, const io::Column& column);

}  // namespace tessera::inline v1::workloads::sort
