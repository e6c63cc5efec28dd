#pragma once
// The distributed transpose and relayout: every element is sent at most once.

#include <string_view>
#include <vector>

#include "dist/records.hpp"
#include "kernels/transpose/update.hpp"
#include "kernels/transpose/variants.hpp"
#include "mpi/network.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::transpose {

using tessera::transpose::Op;
using tessera::transpose::Tuning;
using tessera::transpose::Variant;

/// The number type of a scaled update; a plain transpose moves bytes.
enum class Number { opaque, f32, f64, c64, c128 };
struct Scale {
  Number number = Number::opaque;
  double alpha = 1;
  double beta = 0;
  tessera::transpose::Conjugate conjugate = tessera::transpose::Conjugate::no;
  [[nodiscard]] bool plain() const {
    return alpha == 1 && beta == 0 && conjugate == tessera::transpose::Conjugate::no;
  }
};

/// b = alpha * op(a) + beta * b on all ranks of comm; beta == 0 never reads b, alpha == 0 never
/// reads a. The layouts are any homes; op N with another layout is a relayout. Records have 1 to 64
/// bytes, equal in a and b; unless the update is plain, they are numbers of scale.number.
struct Task {
  const DistributedRecords& a;
  Op op = Op::transpose;
  DistributedRecords& b;
  Scale scale = {};
};

/// Distributed algorithms, by name.
enum class Algorithm {
  alltoall,  ///< transposes all, exchanges, unpacks
  pairwise,  ///< pair by pair in pieces: transposes one while the previous is in flight
  shared,    ///< directly into the blocks of the node's ranks if b is shared(); pairwise with other
             ///< nodes
};
struct AlgorithmInfo {
  std::string_view name;
  Algorithm algorithm;
  std::string_view about;
};
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithms();

/// Algorithm, kernel and parameters of a transpose.
struct Method {
  Algorithm algorithm = Algorithm::pairwise;
  const Variant* kernel = nullptr;  ///< out of place; nullptr: the best for the shape
  Tuning tuning = {};
  index_t piece_bytes = index_t{4} << 20;  ///< pairwise: of one message
};

/// Transposes. Adds to the phases "compute", "exchange" and "unpack". The bits of b do not depend
/// on ranks, layouts or method. Throws Error(usage) on every rank, naming the argument, for
/// inconsistent shapes, records, ranks and numbers, and if the algorithm is shared and b is not.
/// Collective.
void transpose_matrix(const mpi::Communicator& comm, const Task& task, const Method& method,
                      mpi::Phases& phases);
inline void transpose_matrix(const mpi::Communicator& comm, const Task& task,
                             const Method& method = {}) {
  mpi::Phases unused;
  transpose_matrix(comm, task, method, unused);
}

/// Transposes the matrix in place; a rank also holds the pieces in flight. Requires row blocks and
/// a square matrix, or one rank (the kernel then allocates scratch for a few rows); throws
/// Error(usage) for others. Collective.
void transpose_in_place(const mpi::Communicator& comm, DistributedRecords& matrix,
                        const Method& method, mpi::Phases& phases);
inline void transpose_in_place(const mpi::Communicator& comm, DistributedRecords& matrix,
                               const Method& method = {}) {
  mpi::Phases unused;
  transpose_in_place(comm, matrix, method, unused);
}

/// Memory and traffic of one rank.
struct Forecast {
  index_t sent_bytes = 0;
  index_t received_bytes = 0;
  index_t messages = 0;       ///< received
  index_t touched_bytes = 0;  ///< read or written in memory by kernels and copies of this rank
  index_t home_bytes = 0;     ///< a and b at home
  index_t work_bytes = 0;     ///< in addition, at the peak
  index_t seen_bytes = 0;     ///< resident bytes of other ranks' homes in shared memory
  [[nodiscard]] index_t memory() const { return home_bytes + work_bytes; }
  [[nodiscard]] index_t resident() const { return memory() + seen_bytes; }
};

/// A task for the forecast: a is rows x cols, a and b in row blocks.
struct ForecastRequest {
  index_t rows = 0, cols = 0;
  Op op = Op::transpose;
  index_t element_bytes = 8;
  Scale scale = {};
  index_t ranks = 1;
  index_t ranks_per_node = 1;
  bool in_place = false;
  std::vector<double> weights = {};  ///< bytes per second of every rank, in proportion to which
                                     ///< rows are shared; empty: equally

  /// Returns the home of an m x n matrix, a or b. Blocks of rows begin at whole cache lines of the
  /// transpose if these are short relative to a block: otherwise two ranks write to the same line
  /// at every end of every run.
  [[nodiscard]] layout::MatrixLayout home(index_t m, index_t n) const {
    if (static_cast<index_t>(weights.size()) == ranks)
      return layout::row_blocks(m, n, layout::weighted_offsets(m, weights));
    constexpr index_t line = 64, least = 16;
    const index_t granule = line % element_bytes == 0 ? line / element_bytes : 1;
    const bool are_short = m / ranks >= least * granule;
    return layout::row_blocks(m, n, layout::BlockMap(m, ranks, are_short ? granule : 1).offsets());
  }
};

/// Returns the forecast of every rank. Arithmetic only.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method);

/// Returns the seconds of messages of the slowest rank, without arithmetic.
[[nodiscard]] double exchange_seconds(const ForecastRequest& request, const Method& method,
                                      const mpi::Network& network);

}  // namespace tessera::inline v1::dist::transpose
