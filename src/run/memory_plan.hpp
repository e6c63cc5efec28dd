#pragma once
// Does the plan fit? Asked before anything is allocated.

#include <functional>
#include <string>

#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// What a rank is to hold at the peak, bytes, beside the program.
struct Held {
  index_t own = 0;  ///< memory that no other rank counts
  index_t seen =
      0;  ///< resident pages of memory that ranks of the node share and another one counts
  [[nodiscard]] index_t resident() const { return own + seen; }
};

/// What any rank may plan to hold, the same on every rank.
struct Allowance {
  index_t free = 0;   ///< bytes of its own: its share of 90 % of what its node has free
  index_t limit = 0;  ///< --memory, bytes, with the program; 0: none
  /// What a rank holds whatever it computes, bytes: the program and its libraries (MPI, HDF5, CUDA)
  /// as they lie in memory now, and what they take on the way. The most of any rank.
  /// TESSERA_PROGRAM_MEMORY (bytes) says instead what is to count.
  index_t program = 0;

  Allowance() = default;
  /// Collective.
  Allowance(const mpi::Communicator& comm, const Values& point);
  [[nodiscard]] bool holds(const Held& held) const {
    return held.own <= free && (limit == 0 || program + held.resident() <= limit);
  }
  /// The bytes that any rank may plan to hold beside the program: what --memory leaves it, and its
  /// share of what the node has free. Of the program so much is counted that runs of the same
  /// command agree, which go on with each other's files. Throws AgreedError(memory) where --memory
  /// leaves nothing. Local: every rank has the same.
  [[nodiscard]] index_t beside_program() const;
};

/// The same, of facts that are settled with others.
class AllowanceFacts {
 public:
  /// Collective where the ranks of the node are not known yet.
  AllowanceFacts(mpi::Agreement& agreement, const mpi::Communicator& comm, const Values& point);
  [[nodiscard]] Allowance settled() const;

 private:
  const mpi::Agreement& agreement_;
  std::size_t program_, later_, limit_, free_;
};

/// Throws AgreedError(memory) with the numbers when `held` (by this rank, as planned) and the
/// program exceed
/// --memory, or when the ranks of a node together exceed 90 % of what the node has free.
/// most_on(ranks) is the largest resident need of a rank if there were so many ranks: with it the
/// message names the smallest number that fits. Returns what this rank plans to have resident, the
/// program with it. Collective.
index_t require_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                       const std::function<index_t(index_t ranks)>& most_on);

/// What this rank plans to have resident, the program with it. For requests of which every rank
/// knows that an Allowance holds what each of them is to hold, so that nothing has to be asked.
/// Local.
[[nodiscard]] index_t planned_memory(const mpi::Communicator& comm, const Values& point,
                                     const Held& held);

/// For --plan: the same, and of --ranks what --memory alone says, for they run elsewhere.
/// Collective.
void require_planned_memory(const mpi::Communicator& comm, const Values& point, const Held& held,
                            const std::function<index_t(index_t ranks)>& most_on);

/// "183 MiB, 27 MiB of them the program itself", of planned bytes beside the program.
[[nodiscard]] std::string held_text(index_t bytes, index_t program);
/// ", 27 MiB of them the program itself"; nothing where it does not count.
[[nodiscard]] std::string of_program_text(index_t program);

}  // namespace tessera::run
