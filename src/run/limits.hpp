#pragma once
// What limits of the user's and of the machine leave to a run: looked at before something ends by
// them in words of MPI's or OpenMP's, or in a crash.

#include <pthread.h>

#include <atomic>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::run {

/// Threads that do nothing, to see whether so many run at once; they end with it.
class ThreadTrial {
 public:
  /// stack_bytes: of each; 0: the system's default, as OpenMP takes it.
  explicit ThreadTrial(int threads, index_t stack_bytes = 0);
  ~ThreadTrial();
  ThreadTrial(const ThreadTrial&) = delete;
  ThreadTrial& operator=(const ThreadTrial&) = delete;
  [[nodiscard]] bool all_run() const { return all_run_; }

 private:
  static void* wait(void* self);
  std::atomic<bool> ended_{false};
  std::vector<pthread_t> threads_;
  bool all_run_ = false;
};

/// Throws Error(memory) where this process may not have what MPI takes to start: address space,
/// open files, threads. To be called before it does.
void require_room_for_mpi();

/// Throws Error(memory) on all ranks where a rank cannot have a team of so many threads while the
/// others have theirs. Collective.
void require_teams(const mpi::Communicator& comm, int threads);

}  // namespace tessera::run
