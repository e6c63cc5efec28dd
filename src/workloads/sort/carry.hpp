#pragma once
// Columns of a table carried from file to file in the order of a permutation.

#include <optional>
#include <span>
#include <vector>

#include "dist/sort/check.hpp"
#include "dist/sort/permute.hpp"
#include "machine/buffer.hpp"
#include "mpi/phases.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

/// Permutes columns one after the other and verifies them while they are in a cache: hashes the
/// input as it is read, and verifies hash and order of the result as rows are gathered, or as they
/// are written if they were permuted in place.
class Carrier {
 public:
  /// The parameters common to all columns.
  struct CarriedTable {
    const Inputs& inputs;
    const Problem& problem;
    const layout::BlockMap& map;
    std::span<const std::uint64_t> permutation;  ///< of this rank
    index_t first = 0;                           ///< first row of the result on this rank
    bool verify = true;
    bool may_permute_in_place = true;          ///< every row occurs once
    dist::sort::OrderOfRows* order = nullptr;  ///< of the rows, if it is to be verified here
  };
  /// Prepares the permutation of columns. Collective.
  Carrier(const mpi::Communicator& comm, const CarriedTable& table, mpi::Phases& phases);

  /// Carries a column to its dataset `place` of the outputs; verifies the order by those keys that
  /// are parts of it. Collective.
  void carry(std::size_t column, std::span<const SortColumn* const> keys, run::Outputs& outputs,
             std::size_t place);

  /// Returns the number of faults so far, the same on every rank.
  [[nodiscard]] index_t faults() const { return faults_; }
  /// Returns the seconds of permuting on the slowest rank.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  struct Column;
  [[nodiscard]] index_t rows_here() const {
    return static_cast<index_t>(table_.permutation.size());
  }
  [[nodiscard]] int threads() const { return table_.problem.method.threads; }
  void read(Column& column);
  void permute(Column& column);
  void write(Column& column, run::Outputs& outputs, std::size_t place);
  void gather_and_look(Column& column);
  void look(Column& column, const std::byte* rows, const std::byte* row_before,
            layout::Range range);
  /// Moves seconds of the check from another phase to "verify".
  void set_apart(double seconds, const char* phase);

  mpi::Communicator comm_;
  CarriedTable table_;
  mpi::Phases& phases_;
  layout::Range mine_;
  std::optional<dist::sort::Gather> gather_;
  bool hashes_;                       // every row is in the result, hence in the sums of both
  std::vector<std::uint64_t> named_;  // otherwise: the rows of this rank that are in the result
  machine::Buffer<std::byte> before_, after_;  // of the previous column, for the next one
  index_t faults_ = 0;
  double seconds_ = 0;
};

/// Returns the offset of a key in the stored rows of a column; empty if it must be converted.
[[nodiscard]] std::optional<index_t> key_in_row(const Inputs& inputs, const Problem& problem,
                                                const SortColumn& key);

}  // namespace tessera::inline v1::workloads::sort
