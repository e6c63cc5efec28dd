#pragma once
// A fork-join computation as a series-parallel graph of strands, recorded from one serial run of a
// probe on traced elements. Its length is counted in operations: loads and stores of elements,
// arithmetic on them, forks and joins. It is the same on every machine and in every run.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/index.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "lab/locality/access.hpp"

namespace tessera::inline v1::microscope {

/// A maximal sequence of operations without fork or join in between. A fork is the last operation
/// of its strand, a join the first.
struct Strand {
  enum class End : std::uint8_t { finish, fork, join };
  index_t operations = 0;
  index_t first_access = 0;  ///< in Computation::accesses; the next strand's is the end
  End end = End::finish;
  index_t fork = -1;  ///< the fork that ends it, or that its join belongs to
};

struct Fork {
  index_t strand = -1;  ///< ends with it; the first side begins with the next one
  index_t second = -1;  ///< first strand of the second side
  index_t after = -1;   ///< strand after the join
};

/// A load or store of 4-byte units in 32 bits.
class PackedAccess {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32;  ///< of addresses
  /// Precondition: address below most_bytes, a multiple of 4; 4 or 8 bytes.
  explicit PackedAccess(const locality::Access& access);
  [[nodiscard]] locality::Access unpack() const;

 private:
  std::uint32_t bits_;  ///< units << 2 | wide << 1 | store
};

/// Strands in the order of the serial run, which is a topological order of the graph.
struct Computation {
  std::vector<Strand> strands;
  std::vector<Fork> forks;
  std::vector<PackedAccess> accesses;  ///< empty unless kept
  index_t loads = 0, stores = 0, arithmetic = 0;
  index_t joined = 0;  ///< number of forks
  index_t span = 0;    ///< operations of the longest path
  /// By strand: operations on the longest path that ends with it.
  std::vector<index_t> depths;
  std::vector<bool> critical;  ///< by strand: on one longest path

  [[nodiscard]] index_t work() const { return loads + stores + arithmetic + 2 * joined; }
  [[nodiscard]] double parallelism() const {
    return span > 0 ? static_cast<double>(work()) / static_cast<double>(span) : 1;
  }
  [[nodiscard]] index_t strand_count() const { return 3 * joined + 1; }
  /// Returns the accesses of a strand.
  [[nodiscard]] index_t accesses_of(index_t strand) const;
  /// Releases the graph and the accesses; the counts remain.
  void forget_graph();
};

enum class Keep : std::uint8_t { totals, accesses };

/// Runs a probe that `make` makes, serially with every fork and every element traced. Throws
/// Error(usage) if more than most_accesses are to be kept, Error(internal) if its result is wrong.
using Make = std::unique_ptr<forkjoin::Problem> (*)(index_t n, index_t threshold);
[[nodiscard]] Computation record(Make make, index_t n, index_t threshold, Keep keep);

/// Upper bound of the accesses kept: 400 MB.
inline constexpr index_t most_accesses = 100'000'000;

}  // namespace tessera::inline v1::microscope
