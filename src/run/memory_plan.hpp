#pragma once
// Check of the memory plan against limits and free memory, before anything is allocated.

#include <functional>
#include <string>

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Peak memory of a rank, bytes, excluding the program.
struct Held {
  index_t own = 0;   ///< memory counted by this rank only
  index_t seen = 0;  ///< resident pages of node-shared memory that another rank counts
  [[nodiscard]] index_t resident() const { return own + seen; }
};

/// Memory that any rank may plan to hold, the same on every rank.
struct Allowance {
  index_t free = 0;   ///< bytes per rank: its share of 90 % of its node's free memory
  index_t limit = 0;  ///< --memory, bytes, including the program; 0: no limit
  /// Memory a rank holds independently of the problem, bytes: the program and its libraries (MPI,
  /// HDF5, CUDA) resident now, plus their later growth; the maximum over the ranks.
  /// TESSERA_PROGRAM_MEMORY (bytes) overrides it.
  index_t program = 0;

  Allowance() = default;
  /// Collective.
  Allowance(const mpi::Communicator& comm, const Values& point);
  [[nodiscard]] bool holds(const Held& held) const {
    return held.own <= free && (limit == 0 || program + held.resident() <= limit);
  }
  /// Returns the bytes that any rank may plan to hold beyond the program: the minimum of what
  /// --memory leaves and of `free`. Rounds the program's size up so that runs of the same command,
  /// which resume each other's files, agree. Throws AgreedError(memory) if --memory leaves nothing.
  /// Local: the same on every rank.
  [[nodiscard]] index_t net_of_program() const;
};

/// Allowance computed from facts that settle together with others of an agreement.
class AllowanceFacts {
 public:
  /// Collective if the ranks of the node are not known yet.
  AllowanceFacts(mpi::Agreement& agreement, const mpi::Communicator& comm, const Values& point);
  [[nodiscard]] Allowance settled() const;

 private:
  const mpi::Agreement& agreement_;
  std::size_t program_, later_, limit_, free_;
};

/// Throws AgreedError(memory) with the figures if this rank's `held` and the program exceed
/// --memory, or if the ranks of a node together exceed 90 % of its free memory. most_on(ranks) is
/// the largest resident need of a rank among `ranks` ranks; the message names the smallest number
/// found to fit. Returns this rank's planned resident memory, including the program. Collective.
index_t require_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                       const std::function<index_t(index_t ranks)>& most_on);

/// Returns this rank's planned resident memory, including the program. Precondition: every rank
/// knows that an Allowance covers all ranks' needs, so that no agreement is required. Local.
[[nodiscard]] index_t planned_memory(const mpi::Communicator& comm, const Values& point,
                                     const Held& held);

/// Calls require_memory() for --plan; with --ranks, a plan for other machines, checks --memory
/// only. Collective.
void require_planned_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                            const std::function<index_t(index_t ranks)>& most_on);

/// Returns "183 MiB, 27 MiB of them the program itself" for bytes planned beyond the program.
[[nodiscard]] std::string held_text(index_t bytes, index_t program);
/// Returns ", 27 MiB of them the program itself"; "" for 0.
[[nodiscard]] std::string of_program_text(index_t program);

}  // namespace tessera::inline v1::run
