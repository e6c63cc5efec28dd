#pragma once
// Columns of a table on their way from file to file, in the order of a permutation.

#include <optional>
#include <span>
#include <vector>

#include "dist/sort/check.hpp"
#include "dist/sort/permute.hpp"
#include "mpi/phases.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::workloads::sort {

/// Brings columns in order, one after the other, and looks at them where a cache holds them anyway:
/// the hash of the input is taken as it is read, that of the result and the order of its rows as
/// they are gathered, or as they are written where they were permuted in place.
class Carrier {
 public:
  /// What all columns have in common.
  struct CarriedTable {
    const Inputs& inputs;
    const Problem& problem;
    const layout::BlockMap& map;
    std::span<const std::uint64_t> permutation;  ///< of this rank
    index_t first = 0;                           ///< the result's row that it begins with
    bool verify = true;
    bool may_permute_in_place = true;          ///< every row is there once
    dist::sort::OrderOfRows* order = nullptr;  ///< of the rows, if it is to be seen here
  };
  /// Collective.
  Carrier(const mpi::Communicator& comm, const CarriedTable& table, mpi::Phases& phases);

  /// The column of that number to its place among the outputs; its order is told of those keys,
  /// which are parts of it. Collective.
  void carry(std::size_t column, std::span<const SortColumn* const> keys, run::Outputs& outputs,
             std::size_t place);

  /// What was wrong so far, the same on every rank.
  [[nodiscard]] index_t faults() const { return faults_; }
  /// Of permuting, the slowest rank's.
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
  /// Seconds that went to the check inside of another phase.
  void set_apart(double seconds, const char* phase);

  mpi::Communicator comm_;
  CarriedTable table_;
  mpi::Phases& phases_;
  layout::Range mine_;
  std::optional<dist::sort::Gather> gather_;
  bool hashes_;                       // every row is in the result, and so in the sums of both
  std::vector<std::uint64_t> named_;  // else: the rows of this rank that are
  index_t faults_ = 0;
  double seconds_ = 0;
};

/// Where a key lies in the rows of a column as these are stored; nothing where it has to be
/// converted.
[[nodiscard]] std::optional<index_t> key_in_row(const Inputs& inputs, const Problem& problem,
                                                const SortColumn& key);

}  // namespace tessera::workloads::sort
