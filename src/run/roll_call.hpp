#pragma once
// What every rank tells all others first.

#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/understood.hpp"

namespace tessera::run {

/// The ranks that are where this one is, itself among them.
struct Neighbours {
  int on_host = 1;   ///< on the same machine
  int on_cores = 1;  ///< that may run on exactly the same cores of it
};

/// Whether anything failed so far, what each was told, and where each may run: known of all ranks
/// after one message of 32 bytes a rank.
class RollCall {
 public:
  /// failed: what went wrong here, or ok. Collective.
  RollCall(const mpi::Communicator& comm, ExitCode failed, const std::vector<Fact>& told);

  [[nodiscard]] bool all_well() const;
  [[nodiscard]] bool all_failed() const;
  [[nodiscard]] bool told_alike() const;
  [[nodiscard]] Neighbours neighbours() const;

 private:
  struct Answer {
    index_t code, told, host, cores;  // hashes but the first
  };
  std::vector<Answer> all_;  // by rank
  Answer mine_;
};

}  // namespace tessera::run
