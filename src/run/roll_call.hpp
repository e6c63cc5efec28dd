#pragma once
// First exchange among the ranks: status, request and location of each.

#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/understood.hpp"

namespace tessera::inline v1::run {

/// Numbers of ranks at the same location, including this one.
struct Neighbours {
  int on_host = 1;            ///< on the same machine
  int on_cores = 1;           ///< that may run on exactly the same cores of it
  int before_on_host = 0;     ///< of lower rank, on the same machine
  bool count_energy = false;  ///< some rank of the job may read energy counters
};

/// Status, request hash, host, cores and energy counters of every rank, exchanged in one all-gather
/// of 40 bytes a rank.
class RollCall {
 public:
  /// Exchanges the answers. failed: this rank's error, or ok. Collective.
  RollCall(const mpi::Communicator& comm, ExitCode failed, const std::vector<Fact>& facts);

  [[nodiscard]] bool all_well() const;
  [[nodiscard]] bool all_failed() const;
  [[nodiscard]] bool same_facts() const;
  [[nodiscard]] Neighbours neighbours() const;

 private:
  struct Answer {
    index_t code, facts, host, cores, energy;  // hashes, except code and energy (0 or 1)
  };
  std::vector<Answer> all_;  // by rank
  Answer mine_;
  int rank_;
};

}  // namespace tessera::inline v1::run
